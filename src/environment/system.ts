import { randomUUID } from "node:crypto";
import type { Environment, Timer } from "./environment.js";

// A longer delay makes Node fire at once.
const longestTimerMs = 2 ** 31 - 1;

/** The real clock, the real random numbers and the real timers of this process. */
export const systemEnvironment: Environment = Object.freeze({
  now: () => performance.timeOrigin + performance.now(),
  monotonic: () => performance.now(),
  random: () => Math.random(),
  uniqueId: () => randomUUID(),
  setTimer(callback: () => void, delayMs: number, options?: { background?: boolean }): Timer {
    const handle = setTimeout(callback, Math.min(Math.max(0, delayMs), longestTimerMs));
    if (options?.background) handle.unref();
    return { cancel: () => clearTimeout(handle) };
  },
  defer(callback: () => void) {
    setImmediate(callback);
  },
});
