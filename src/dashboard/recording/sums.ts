/** The sum of one figure of all items. */
export function sumOf<T>(items: readonly T[], read: (item: T) => number): number {
  return items.reduce((sum, item) => sum + read(item), 0);
}

/**
 * Joins all items that have the same key, with `add`. The results are in the order in which their
 * keys first occur.
 */
export function sumByKey<T>(
  items: Iterable<T>,
  keyOf: (item: T) => string,
  add: (sum: T, item: T) => T,
): readonly T[] {
  const sums = new Map<string, T>();
  for (const item of items) {
    const key = keyOf(item);
    const sum = sums.get(key);
    sums.set(key, sum === undefined ? item : add(sum, item));
  }
  return [...sums.values()];
}
