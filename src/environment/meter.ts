import { monitorEventLoopDelay } from "node:perf_hooks";
import { getHeapStatistics } from "node:v8";
import type { ProcessMeter } from "./environment.js";

/** How often the event loop is checked, in milliseconds. A delay is known to about this time. */
const resolutionMs = 20;

/** Measures this process. While it runs, it costs a native timer and one histogram. */
export function processMeter(): ProcessMeter {
  const delays = monitorEventLoopDelay({ resolution: resolutionMs });
  delays.enable();
  let cpu = process.cpuUsage();
  let readAt = performance.now();
  return {
    read() {
      const used = process.cpuUsage(cpu);
      const now = performance.now();
      const elapsedMs = Math.max(1, now - readAt);
      cpu = process.cpuUsage();
      readAt = now;
      const heap = getHeapStatistics();
      // The histogram has the times between two checks.
      const loopDelayMs = Math.max(0, delays.max / 1e6 - resolutionMs);
      delays.reset();
      return {
        upMs: Math.round(process.uptime() * 1_000),
        cpuShare: Math.round(((used.user + used.system) / 1_000 / elapsedMs) * 100) / 100,
        loopDelayMs: Math.round(loopDelayMs),
        memoryBytes: heap.total_heap_size + heap.external_memory,
      };
    },
    end: () => void delays.disable(),
  };
}
