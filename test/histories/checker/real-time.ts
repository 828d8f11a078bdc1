/** An interval in any unit. Infinity if its end is not known. */
interface Span {
  readonly begin: number;
  readonly end: number;
}

/**
 * The transitive reduction of "ended before the other began". Calls `precedes` for the pairs that
 * imply all others. If at most `c` spans overlap at a time, there are at most `c` pairs for each
 * span.
 *
 * @param spans in the order of their beginnings.
 */
export function realTimeOrder<T extends Span>(
  spans: readonly T[],
  precedes: (before: T, after: T) => void,
): void {
  const ending = spans.filter(({ end }) => end !== Number.POSITIVE_INFINITY).sort((a, b) => a.end - b.end);
  /** The spans that have ended, except those that ended before another of these spans began. */
  let frontier: readonly T[] = [];
  const before = new Map<T, readonly T[]>();
  let next = 0;
  for (const span of spans) {
    for (; next < ending.length && ending[next]!.end < span.begin; next++) {
      const ended = ending[next]!;
      const passed = new Set(before.get(ended));
      before.delete(ended);
      frontier = [...frontier.filter((each) => !passed.has(each)), ended];
    }
    for (const each of frontier) precedes(each, span);
    if (span.end !== Number.POSITIVE_INFINITY) before.set(span, frontier);
  }
}
