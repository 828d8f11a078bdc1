/** The first items, and whether there are more. */
export interface First<T> {
  readonly first: readonly T[];
  readonly isMore: boolean;
}

/** Reads at most `limit` items, and one more to find out whether there are more. */
export async function firstOf<T>(items: AsyncIterable<T>, limit: number): Promise<First<T>> {
  const first: T[] = [];
  for await (const item of items) {
    if (first.length === limit) return { first, isMore: true };
    first.push(item);
  }
  return { first, isMore: false };
}
