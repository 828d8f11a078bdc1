import { expect, test } from "vitest";
import { adviceOn, type Fight, remedyFor } from "./advice.js";

const fight: Fight = {
  cell: { table: "pages", row: "a", column: "title" },
  loser: "titles",
  winner: "titles",
  isLoserObserver: true,
  isWinnerObserver: true,
  isNumber: false,
  rows: 1,
};

test.each<[string, Partial<Fight>]>([
  ["Narrow the range", { cell: { ...fight.cell, column: "*" } }],
  ["combine queue", { isNumber: true }],
  ["Spread the shared row by hash", {}],
  ["Lower its `concurrency`", { rows: 20 }],
  ["Let one of them own pages.title", { winner: "ranks" }],
  ["Let titles write a column of its own", { winner: "load", isWinnerObserver: false }],
  ["name that with --from", { winner: "unseen transaction", isWinnerObserver: false }],
  ['let "load" notify', { loser: "load", isLoserObserver: false }],
  [
    "Let one process write a row: there, retries of db.transact take turns",
    { loser: "transaction", winner: "transaction", isLoserObserver: false, isWinnerObserver: false },
  ],
  [
    '"load" and "fix" overlap',
    { loser: "load", winner: "fix", isLoserObserver: false, isWinnerObserver: false },
  ],
])("advises to %s", (words, part) => {
  const advice = adviceOn({ ...fight, ...part });
  expect(advice).toContain(words);
  expect(advice).not.toContain("\n");
});

test("rows that conflicted once need no remedy, and rare conflicts are left to retries", () => {
  const column = { ...fight, isInternal: false, rows: 40 };
  expect(remedyFor({ ...column, mostInRow: 1 })).toBeUndefined();
  expect(remedyFor({ ...column, mostInRow: 3 })).toContain("titles runs again by itself");
  const load = { ...column, loser: "load", isLoserObserver: false };
  expect(remedyFor({ ...load, mostInRow: 3 })).toContain("raise its `retries`");
  expect(remedyFor({ ...column, mostInRow: 90, isNumber: true })).toContain("combine queue");
  expect(remedyFor({ ...column, mostInRow: 90, rows: 1 })).toContain("concurrency: 1");
  expect(remedyFor({ ...column, mostInRow: 90, isInternal: true })).toContain("finer keys");
});
