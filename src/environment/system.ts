import { randomUUID } from "node:crypto";
import type { Environment, Timer } from "./environment.js";
import { machineName, thisMachine } from "./machine.js";

// A longer delay makes Node fire at once.
const maxTimerMs = 2 ** 31 - 1;

const machine = `${machineName(thisMachine())}/`;

/** Signal 0 asks whether a process is there, and does nothing to it. */
function isRunning(processName: string): boolean | undefined {
  if (!processName.startsWith(machine)) return undefined;
  const id = Number(processName.slice(machine.length));
  if (!Number.isInteger(id) || id <= 0) return undefined;
  try {
    process.kill(id, 0);
    return true;
  } catch (error) {
    // Somebody else's process is there, and may not be asked.
    return (error as NodeJS.ErrnoException).code !== "ESRCH";
  }
}

/**
 * `performance.now` follows no setting of the system's clock, and stands still while the machine
 * sleeps. It may be so far ahead of `Date.now`, whose milliseconds are whole; never behind it: what
 * is now must not be in the future.
 */
const aheadMs = 5;
let origin = performance.timeOrigin;

/** The system's clock, finer than `Date.now`. */
function now(): number {
  const at = origin + performance.now();
  const aheadBy = at - Date.now();
  if (aheadBy >= 0 && aheadBy <= aheadMs) return at;
  origin = Date.now() - performance.now();
  return Math.max(Date.now(), origin + performance.now());
}

/** The real clock, the real random numbers and the real timers of this process. */
export const systemEnvironment: Environment = Object.freeze({
  now,
  monotonic: () => performance.now(),
  random: () => Math.random(),
  uniqueId: () => randomUUID(),
  processName: `${machine}${process.pid}`,
  isRunning,
  setTimer(callback: () => void, delayMs: number, options?: { background?: boolean }): Timer {
    const handle = setTimeout(callback, Math.min(Math.max(0, delayMs), maxTimerMs));
    if (options?.background) handle.unref();
    return { cancel: () => clearTimeout(handle) };
  },
  defer(callback: () => void) {
    setImmediate(callback);
  },
});
