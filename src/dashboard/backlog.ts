/** What waits, of one kind. */
export interface Backlog {
  readonly count: number;
  /** Whether there are more than `count`. */
  readonly more: boolean;
  /** When the oldest that was counted began to wait. */
  readonly oldest: Date | undefined;
}

/** Counts what waits one by one, up to `most`. */
export async function countBacklog<T>(
  changes: AsyncIterable<T>,
  waitsSince: (change: T) => Date,
  most: number,
): Promise<Backlog> {
  let count = 0;
  let oldest: Date | undefined;
  for await (const change of changes) {
    if (count === most) return { count, more: true, oldest };
    count++;
    const since = waitsSince(change);
    if (oldest === undefined || since < oldest) oldest = since;
  }
  return { count, more: false, oldest };
}
