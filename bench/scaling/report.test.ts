import { expect, test } from "vitest";
import { describePipeline, describeRound, figureOf, type Round } from "./report.js";
import type { ProcessUse, WritingUse } from "./usage.js";

const writing: WritingUse = {
  transactions: 10,
  commitsPerTransaction: 20,
  pagesPerTransaction: 100,
  lockWaitShare: 0,
  openShare: 0.2,
  fillShare: 0.1,
  pageWriteShare: 0.05,
  flushShare: 0.1,
};

function roundOf(seconds: number, uses: readonly Partial<ProcessUse>[], othersShare = 0): Round {
  const workers = uses.map((use) => ({
    runs: 50,
    conflicts: 1,
    use: { seconds, userSeconds: 1, systemSeconds: 0.5, loopUtilisation: 0.5, writing, ...use },
  }));
  return { seconds, workers, othersShare, wrong: [] };
}

test("the factor is that of the times, round by round", () => {
  const one = [4, 6].map((seconds) => roundOf(seconds, [{}]));
  const two = [2, 4].map((seconds) => roundOf(seconds, [{}, {}]));
  const figure = figureOf(2, 100, two, one, 2);
  expect(figure.factor.median).toBe(1.75);
  expect(figure.pagesPerSecond.median).toBe(37.5);
  expect(figure.cpuSeconds.median).toBe(3);
  expect(figure.cpuShare.median).toBeCloseTo((3 / 4 + 3 / 8) / 2);
  const text = describePipeline({ pipeline: "webindex", pages: 100, figures: [figure] });
  expect(text).toContain("webindex, 2 workers: 38 pages/s");
  expect(text).toContain("1.75 times one");
});

test.each([
  ["other programs, so that the factor says nothing", roundOf(1, [{ userSeconds: 2 }], 0.3)],
  ["all CPUs", roundOf(1, [{ userSeconds: 1.4 }])],
  ["LMDB's write lock", roundOf(3, [{ writing: { ...writing, lockWaitShare: 0.4 } }, {}])],
  ["the busiest worker's event loop", roundOf(3, [{ loopUtilisation: 0.9 }, {}])],
  ["waiting: for flushes, and for the end", roundOf(3, [{}, {}])],
])("names what bounds it: %s", (bound, round) => {
  expect(figureOf(1, 100, [round], [round], 2).bound).toBe(bound);
});

test("a round in words says what each worker did, and what is wrong", () => {
  const round = { ...roundOf(2, [{}, {}], 0.5), wrong: ["A page has another signature."] };
  const text = describeRound({ pipeline: "minhash", functions: 8 }, 100, round);
  expect(text).toContain(
    "minhash of 8 functions, 2 workers: 50 pages/s; 100 in 2.00 s; others took 50 % of the machine",
  );
  expect(text).toContain("  50 runs, 1 in conflict; CPU user 1.0 s");
  expect(text).toContain("  WRONG: A page has another signature.");
});
