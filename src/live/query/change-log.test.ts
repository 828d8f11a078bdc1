import { expect, test } from "vitest";
import { ChangeLog } from "./change-log.js";

const change = (commitTimestamp: number) => ({ table: "a", commitTimestamp });
const timestamps = (found: ReturnType<ChangeLog["since"]>) =>
  found?.map(({ commitTimestamp }) => commitTimestamp);

test("a log keeps the changes since each of its marks, and nothing without a mark", () => {
  const log = new ChangeLog(100);
  log.add(change(1));
  expect(log.size).toBe(0);
  const first = log.mark();
  log.add(change(2));
  const second = log.mark();
  log.add(change(3));
  const early = log.mark(first);
  expect(timestamps(log.since(first))).toEqual([2, 3]);
  expect(timestamps(log.since(second))).toEqual([3]);
  expect(timestamps(log.since(early))).toEqual([2, 3]);
  first.end();
  first.end();
  expect(timestamps(log.since(early))).toEqual([2, 3]);
  early.end();
  expect(log.size).toBe(1);
  expect(timestamps(log.since(second))).toEqual([3]);
  second.end();
  expect(log.size).toBe(0);
});

test("a log that is too long says that changes are missing", () => {
  const log = new ChangeLog(10);
  const early = log.mark();
  for (let index = 0; index < 10; index++) log.add(change(index));
  const late = log.mark();
  expect(timestamps(log.since(early))).toHaveLength(10);
  log.add(change(10));
  expect(log.since(early)).toBeUndefined();
  expect(timestamps(log.since(late))).toEqual([10]);
  for (let index = 0; index < 100; index++) log.add(change(index));
  expect(log.size).toBeLessThanOrEqual(10);
});
