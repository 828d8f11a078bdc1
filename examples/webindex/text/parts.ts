/**
 * A computation in parts of a few milliseconds. Between two parts its caller may let other work go
 * on.
 */
export type Parts<T> = Generator<undefined, T, undefined>;

/** How many characters one part of a computation reads. */
export const partLength = 65_536;

/** Computes all parts at once. */
export function whole<T>(parts: Parts<T>): T {
  let step = parts.next();
  while (step.done !== true) step = parts.next();
  return step.value;
}
