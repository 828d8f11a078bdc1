/** The summary of a list of measurements. All zero for an empty list. */
export interface Summary {
  readonly median: number;
  /** A quarter of the measurements are below this. */
  readonly low: number;
  /** A quarter of the measurements are above this. */
  readonly high: number;
  readonly count: number;
}

/** Returns the median and the quartiles. On a shared machine single rounds can be far off. */
export function summarize(measurements: readonly number[]): Summary {
  const sorted = [...measurements].sort((a, b) => a - b);
  return {
    median: quantile(sorted, 0.5),
    low: quantile(sorted, 0.25),
    high: quantile(sorted, 0.75),
    count: sorted.length,
  };
}

/**
 * Returns a quantile of ascending numbers, interpolated between two of them. 0 for an empty list.
 */
export function quantile(sorted: readonly number[], part: number): number {
  if (sorted.length === 0) return 0;
  const place = part * (sorted.length - 1);
  const below = Math.floor(place);
  const low = sorted[below]!;
  const high = sorted[Math.min(below + 1, sorted.length - 1)]!;
  return low + (high - low) * (place - below);
}

/**
 * Divides two lists element by element. So both measurements of a round are compared with each
 * other, and drift of the machine cancels out.
 */
export function ratios(above: readonly number[], below: readonly number[]): number[] {
  return above.map((value, index) => value / below[index]!);
}
