import { none } from "./numbers.js";

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

/** A duration for people: 0.4 ms, 12 ms, 1.3 s, 4 min 10 s, 3 h 20 min, 2 d 4 h. */
export function duration(ms: number | undefined): string {
  if (ms === undefined) return none;
  if (ms < 1) return ms <= 0 ? "0 ms" : ms < 0.1 ? "<0.1 ms" : `${ms.toFixed(1)} ms`;
  if (ms < 999.5) return `${ms < 10 && ms % 1 !== 0 ? ms.toFixed(1) : Math.round(ms)} ms`;
  if (ms < minute) return `${(ms / second).toFixed(ms < 10 * second ? 1 : 0)} s`;
  if (ms < hour) return two(ms, minute, "min", second, "s");
  return ms < day ? two(ms, hour, "h", minute, "min") : two(ms, day, "d", hour, "h");
}

function two(ms: number, large: number, largeUnit: string, small: number, smallUnit: string): string {
  const whole = Math.floor(ms / large);
  const rest = Math.floor((ms - whole * large) / small);
  return rest === 0 ? `${whole} ${largeUnit}` : `${whole} ${largeUnit} ${rest} ${smallUnit}`;
}

/**
 * How long ago: `3 s ago`, or `now` within a second. Clocks of two machines differ a little, so what
 * seems to lie in the future is now.
 */
export function ago(at: number, now: number): string {
  const ms = now - at;
  if (ms < second) return "now";
  return `${inWhole(ms)} ago`;
}

/** How soon: `in 4 s`, and `now` within a second. */
export function until(at: number, now: number): string {
  const ms = at - now;
  if (ms < second) return "now";
  return `in ${inWhole(ms)}`;
}

/** A duration that counts up or down on the page: whole seconds, without a fraction that jumps. */
function inWhole(ms: number): string {
  return ms < minute ? `${Math.floor(ms / second)} s` : duration(ms);
}

/** When a cell expires: `expires in 3 min`, or `expired 2 s ago, not deleted yet`. */
export function expiry(at: number, now: number): string {
  if (at > now) return `expires ${until(at, now)}`;
  return `expired ${now - at < second ? "just now" : ago(at, now)}, not deleted yet`;
}

const pad = (value: number, digits = 2) => String(value).padStart(digits, "0");

/** Local time of day: 06:41:07. */
export function clock(at: number): string {
  const date = new Date(at);
  return `${pad(date.getHours())}:${pad(date.getMinutes())}:${pad(date.getSeconds())}`;
}

/** Local time of day with milliseconds: 06:41:07.203. */
export function exactClock(at: number): string {
  return `${clock(at)}.${pad(new Date(at).getMilliseconds(), 3)}`;
}

/** Local date and time: 2025-01-31 12:00:07. */
export function dateTime(at: number): string {
  const date = new Date(at);
  return `${date.getFullYear()}-${pad(date.getMonth() + 1)}-${pad(date.getDate())} ${clock(at)}`;
}

/** Local date and time as an input of type `datetime-local` takes it. */
export function inputTime(at: number): string {
  return dateTime(at).replace(" ", "T");
}
