import { randomUuid } from "./crypto.js";
import type { Environment, Timer } from "./environment.js";
import { machineName, thisMachine } from "./machine.js";
import { processMeter } from "./meter.js";

// Node fires a timer with a longer delay at once.
const maxTimerMs = 2 ** 31 - 1;

let machine: string | undefined;

/**
 * What the names of all processes of this machine begin with. Reads the machine's facts at the
 * first call, so that loading the package does not.
 */
function machinePrefix(): string {
  machine ??= `${machineName(thisMachine())}/`;
  return machine;
}

/** Sends signal 0, which only asks whether a process exists. */
function isRunning(processName: string): boolean | undefined {
  const prefix = machinePrefix();
  if (!processName.startsWith(prefix)) return undefined;
  const id = Number(processName.slice(prefix.length));
  if (!Number.isInteger(id) || id <= 0) return undefined;
  try {
    process.kill(id, 0);
    return true;
  } catch (error) {
    // Any error but ESRCH means that the process exists, but belongs to another user.
    return (error as NodeJS.ErrnoException).code !== "ESRCH";
  }
}

/**
 * How far {@link now} may be ahead of `Date.now`, in milliseconds. `Date.now` has whole
 * milliseconds, so a small lead is normal. A larger one means that the system's clock was changed,
 * because `performance.now` ignores such a change. {@link now} then follows `Date.now` again.
 *
 * {@link now} is never behind `Date.now`, because the time of a `new Date()` would then be in the
 * future. It would fall behind when the machine sleeps, because `performance.now` stops meanwhile.
 */
const aheadMs = 5;
let origin = performance.timeOrigin;

/** The system's wall clock, with a finer resolution than `Date.now`. */
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
  uniqueId: () => randomUuid(),
  get processName() {
    return `${machinePrefix()}${process.pid}`;
  },
  isRunning,
  setTimer(callback: () => void, delayMs: number, options?: { background?: boolean }): Timer {
    const handle = setTimeout(callback, Math.min(Math.max(0, delayMs), maxTimerMs));
    if (options?.background) handle.unref();
    return { cancel: () => clearTimeout(handle) };
  },
  defer(callback: () => void) {
    setImmediate(callback);
  },
  meter: processMeter,
});
