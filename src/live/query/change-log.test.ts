import { expect, test } from "vitest";
import { ChangeLog, type LogMark } from "./change-log.js";

const change = (commitTimestamp: number) => ({ table: "a", commitTimestamp });

/** The timestamps of the changes since a mark. Undefined if some are missing. */
function since(log: ChangeLog, mark: LogMark): number[] | undefined {
  const found: number[] = [];
  const isFound = log.some(mark, ({ commitTimestamp }) => {
    found.push(commitTimestamp);
    return false;
  });
  return isFound === undefined ? undefined : found;
}

test("a log keeps the changes since each of its marks, and nothing without a mark", () => {
  const log = new ChangeLog(100);
  log.add(change(1));
  expect(log.size).toBe(0);
  const first = log.mark();
  log.add(change(2));
  const second = log.mark();
  log.add(change(3));
  const early = log.mark(first);
  expect(since(log, first)).toEqual([2, 3]);
  expect(since(log, second)).toEqual([3]);
  expect(since(log, early)).toEqual([2, 3]);
  expect(log.some(first, ({ commitTimestamp }) => commitTimestamp === 3)).toBe(true);
  first.end();
  first.end();
  expect(since(log, early)).toEqual([2, 3]);
  early.end();
  expect(log.size).toBe(1);
  expect(since(log, second)).toEqual([3]);
  second.end();
  expect(log.size).toBe(0);
});

test("a log that is too long says that changes are missing", () => {
  const log = new ChangeLog(10);
  const early = log.mark();
  for (let index = 0; index < 10; index++) log.add(change(index));
  const late = log.mark();
  expect(since(log, early)).toHaveLength(10);
  log.add(change(10));
  expect(since(log, early)).toBeUndefined();
  expect(since(log, late)).toEqual([10]);
  for (let index = 0; index < 100; index++) log.add(change(index));
  expect(log.size).toBeLessThanOrEqual(10);
});
