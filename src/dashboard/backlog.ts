/** Changes that are counted one by one, at most so many. */
const mostCounted = 10_000;

export interface BacklogCount {
  readonly count: number;
  /** Whether there are more than `count`. */
  readonly more: boolean;
  /** When the oldest that was counted began to wait. */
  readonly oldest: Date | undefined;
}

/** Counts what waits, up to a bound. */
export async function countBacklog<T>(
  changes: AsyncIterable<T>,
  waitsSince: (change: T) => Date,
): Promise<BacklogCount> {
  let count = 0;
  let oldest: Date | undefined;
  for await (const change of changes) {
    if (count === mostCounted) return { count, more: true, oldest };
    count++;
    const since = waitsSince(change);
    if (oldest === undefined || since < oldest) oldest = since;
  }
  return { count, more: false, oldest };
}
