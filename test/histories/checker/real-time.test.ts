import { expect, test } from "vitest";
import { Random } from "../../crash/random.js";
import { realTimeOrder } from "./real-time.js";

interface Span {
  readonly begin: number;
  readonly end: number;
}

/** Spans with different ends, some without an end. At most `most` overlap at a time. */
function randomSpans(random: Random, count: number, most: number): readonly Span[] {
  const spans: { begin: number; end: number }[] = [];
  const open: { begin: number; end: number }[] = [];
  for (let now = 0; spans.length < count; now++) {
    if (open.length < most && random.chance(0.5)) {
      const span = { begin: now, end: Number.POSITIVE_INFINITY };
      spans.push(span);
      if (!random.chance(0.05)) open.push(span);
    } else if (open.length > 0) open.splice(random.below(open.length), 1)[0]!.end = now;
  }
  return spans;
}

test.each([1, 2, 3, 4, 5])(
  "seed %i: the pairs imply the whole real-time order, and no pair is implied by others",
  (seed) => {
    const most = 1 + (seed % 4);
    const spans = randomSpans(new Random(seed), 120, most);
    const direct = new Map<Span, Set<Span>>(spans.map((span) => [span, new Set()]));
    let pairs = 0;
    realTimeOrder(spans, (before, after) => {
      direct.get(before)!.add(after);
      pairs++;
    });
    const reach = (from: Span, without?: Span): ReadonlySet<Span> => {
      const seen = new Set<Span>();
      const open = [...direct.get(from)!].filter((each) => each !== without);
      for (const each of open) {
        if (seen.has(each)) continue;
        seen.add(each);
        open.push(...direct.get(each)!);
      }
      return seen;
    };
    for (const before of spans) {
      expect(reach(before)).toEqual(new Set(spans.filter(({ begin }) => before.end < begin)));
      for (const after of direct.get(before)!) expect(reach(before, after).has(after)).toBe(false);
    }
    expect(pairs).toBeLessThanOrEqual(spans.length * most);
  },
);
