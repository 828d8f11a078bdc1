/** What a list of measurements comes to. All zero if there are none. */
export interface Summary {
  readonly median: number;
  /** A quarter of the measurements lie below. */
  readonly low: number;
  /** A quarter of the measurements lie above. */
  readonly high: number;
  readonly count: number;
}

/** The median and the quartiles: a machine that others use too throws single rounds far off. */
export function summarize(measurements: readonly number[]): Summary {
  const sorted = [...measurements].sort((a, b) => a - b);
  return {
    median: quantile(sorted, 0.5),
    low: quantile(sorted, 0.25),
    high: quantile(sorted, 0.75),
    count: sorted.length,
  };
}

/** The quantile of ascending numbers, between two of them by proportion; 0 of none. */
export function quantile(sorted: readonly number[], part: number): number {
  if (sorted.length === 0) return 0;
  const place = part * (sorted.length - 1);
  const below = Math.floor(place);
  const low = sorted[below]!;
  const high = sorted[Math.min(below + 1, sorted.length - 1)]!;
  return low + (high - low) * (place - below);
}

/**
 * The quotients of two lists, one by one: each round stands for itself, so that drift of the
 * machine cancels.
 */
export function ratios(above: readonly number[], below: readonly number[]): number[] {
  return above.map((value, index) => value / below[index]!);
}
