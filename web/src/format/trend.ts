import type { Count } from "../../../src/dashboard/api/index.js";
import { rate } from "./numbers.js";

/** A backlog that grows or shrinks by less than this many changes a second is steady. */
const steady = 0.5;

/**
 * How a backlog changes, and how long until nothing waits: `+14/s: never`, `-20/s: about 3 min`.
 * Empty if nothing waits, or if the growth is not known yet.
 */
export function trend(growthPerSecond: number | undefined, { count, isBound }: Count): string {
  if (count === 0) return "";
  if (growthPerSecond === undefined) return isBound ? "growth unknown" : "";
  const size = Math.abs(growthPerSecond);
  if (size < steady) return "steady";
  const shown = size < 10 ? rate(size) : String(Math.round(size));
  if (growthPerSecond > 0) return `+${shown}/s: never`;
  return `-${shown}/s: about ${roughly((count / size) * 1_000)}`;
}

/** A duration in one unit: 40 s, 3 min, 5 h, 2 d. */
function roughly(ms: number): string {
  const seconds = ms / 1_000;
  if (seconds < 90) return `${Math.max(1, Math.round(seconds))} s`;
  if (seconds < 90 * 60) return `${Math.round(seconds / 60)} min`;
  return seconds < 36 * 3_600 ? `${Math.round(seconds / 3_600)} h` : `${Math.round(seconds / 86_400)} d`;
}
