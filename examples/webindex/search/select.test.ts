import fc from "fast-check";
import { expect, it } from "vitest";
import { rankTerm } from "../tables.js";
import type { Counts } from "../terms.js";
import { combine, priorOf, TermScorer } from "./bm25.js";
import type { TermBlock } from "./decoded.js";
import { type ScoredTerm, selectBest } from "./select.js";
import type { PageGroup } from "./view.js";

const names = ["a", "b", "c", rankTerm];

interface TestPage {
  readonly isHidden: boolean;
  readonly lengths: Counts;
  /** By term: counts in the fields, or none. */
  readonly counts: readonly (Counts | undefined)[];
}

const small = fc.nat({ max: 3 });
const counts = fc.option(fc.tuple(fc.integer({ min: 1, max: 9 }), small, small), { nil: undefined, freq: 2 });
const page: fc.Arbitrary<TestPage> = fc.record({
  isHidden: fc.constantFrom(false, false, false, true),
  lengths: fc.tuple(
    fc.integer({ min: 1, max: 40 }),
    fc.integer({ min: 1, max: 5 }),
    fc.integer({ min: 1, max: 5 }),
  ),
  counts: fc.tuple(counts, counts, counts, counts),
});
const site = fc.array(fc.array(page, { maxLength: 12 }), { minLength: 1, maxLength: 12 });

function blockOf(pages: readonly TestPage[], term: number): TermBlock | undefined {
  const having = pages.flatMap(({ counts }, at) => (counts[term] === undefined ? [] : [at]));
  if (having.length === 0) return undefined;
  const all = having.map((at) => pages[at]!.counts[term]!);
  const fields = [0, 1, 2] as const;
  const least = (field: 0 | 1 | 2) =>
    Math.min(...having.filter((_, at) => all[at]![field] > 0).map((at) => pages[at]!.lengths[field]));
  const of = (each: (field: 0 | 1 | 2) => number) => fields.map(each) as unknown as Counts;
  return {
    pages: Uint32Array.from(having),
    counts: Uint32Array.from(all.flat()),
    frequency: of((field) => all.filter((each) => each[field] > 0).length),
    highest: of((field) => Math.max(...all.map((each) => each[field]))),
    shortest: of(least),
  };
}

/** Scores every page that is not hidden, in the order of the terms. */
function scoreAll(groups: readonly (readonly TestPage[])[], terms: readonly ScoredTerm[]) {
  return groups.flatMap((pages, group) =>
    pages.flatMap(({ isHidden, counts, lengths }, at) => {
      const matched = [0, 1, 2].filter((term) => counts[term] !== undefined);
      if (isHidden || matched.length === 0) return [];
      const sum = matched.reduce(
        (before, term) => before + terms[term]!.scorer.score(counts[term]!, 0, lengths, 0),
        0,
      );
      const score = combine(sum, matched.length, priorOf(counts[3]?.[0] ?? 0));
      return [{ group, page: at, score }];
    }),
  );
}

it("selects the same pages, with the same scores and the same total, as if every page were scored", () => {
  let [skipped, all] = [0, 0];
  fc.assert(
    fc.property(site, fc.integer({ min: 1, max: 8 }), (pages, most) => {
      const groups: PageGroup[] = pages.map((each) => ({
        lengths: Uint32Array.from(each.flatMap(({ lengths }) => lengths)),
        hidden: each.flatMap(({ isHidden }, at) => (isHidden ? [at] : [])),
      }));
      let scored = 0;
      const terms = names.map((_, term): ScoredTerm => {
        const scorer = new TermScorer([term + 1, 1, 1], { pages: 200, lengths: [4_000, 500, 500] });
        const counted = Object.create(scorer) as TermScorer;
        counted.score = (...args) => {
          // A bound has no page. It reads the smallest lengths instead.
          if (args[2] instanceof Uint32Array) scored++;
          return scorer.score(...args);
        };
        return { blocks: pages.map((each) => blockOf(each, term)), frequency: [1, 1, 1], scorer: counted };
      });
      const { total, best } = selectBest(groups, terms.slice(0, 3), terms[3]!, most);
      const expected = scoreAll(pages, terms).sort((a, b) => b.score - a.score);
      const last = expected[Math.min(most, expected.length) - 1]?.score ?? 0;
      const place = (each: { group: number; page: number }) => each.group * 1_000 + each.page;
      const sorted = (of: readonly { group: number; page: number; score: number }[]) =>
        [...of].sort((a, b) => place(a) - place(b));
      expect(total).toBe(expected.length);
      expect(sorted(best)).toEqual(sorted(expected.filter(({ score }) => score >= last)));
      skipped += expected.length - scored;
      all += expected.length;
    }),
    { numRuns: 300 },
  );
  expect(all).toBeGreaterThan(0);
  expect(skipped).toBeLessThan(all);
});

it("does not score the pages of a group that cannot be among the best", () => {
  const group = (count: number, size: number): readonly TestPage[] =>
    Array.from({ length: size }, () => ({
      isHidden: false,
      lengths: [10, 1, 1] as const,
      counts: [[count, 0, 0] as const, undefined, undefined, undefined],
    }));
  const pages = [group(1, 50), group(9, 200), group(2, 50)];
  const groups = pages.map((each) => ({
    lengths: Uint32Array.from(each.flatMap(({ lengths }) => lengths)),
    hidden: [],
  }));
  const scorer = new TermScorer([300, 0, 0], { pages: 1_000, lengths: [10_000, 1, 1] });
  const seen: number[] = [];
  const counted = Object.create(scorer) as TermScorer;
  counted.score = (all, at, lengths, page) => {
    seen.push(all[at]!);
    return scorer.score(all, at, lengths, page);
  };
  const term = {
    blocks: pages.map((each) => blockOf(each, 0)),
    frequency: [300, 0, 0] as const,
    scorer: counted,
  };
  const none = { blocks: [], frequency: [0, 0, 0] as const };
  const { total, best } = selectBest(groups, [term], none, 10);
  expect(total).toBe(300);
  // Every page of the best group has the same score.
  expect(best).toHaveLength(200);
  expect(seen.filter((count) => count !== 9)).toHaveLength(2);
});
