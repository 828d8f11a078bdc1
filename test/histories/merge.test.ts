import { expect, test } from "vitest";
import { writeEdn } from "./edn.js";
import type { JournalEntry } from "./journal.js";
import { merge } from "./merge.js";
import { checkWellFormed } from "./operations.js";

const entry = (time: number, client: number, type: JournalEntry["type"], element = 1): JournalEntry => ({
  time,
  client,
  type,
  value: [{ f: "append", key: 0, value: element }],
});

/** The time, type and process of each operation. */
const shown = (operations: ReturnType<typeof merge>) =>
  operations.map(({ time, type, process }) => `${time} ${type} ${process}`);

test("overlapping processes give one history, in the order of their clock", () => {
  const history = merge(
    [
      { slot: 0, endedAt: 90, entries: [entry(10, 0, "invoke", 1), entry(30, 0, "ok", 1)] },
      { slot: 1, endedAt: 90, entries: [entry(20, 1, "invoke", 2), entry(25, 1, "fail", 2)] },
    ],
    2,
  );
  expect(shown(history)).toEqual(["10 invoke 0", "20 invoke 3", "25 fail 3", "30 ok 0"]);
  expect(checkWellFormed(history)).toEqual([]);
  expect(writeEdn(history).split("\n")[0]).toBe(
    "{:index 0, :time 10, :type :invoke, :process 0, :f :txn, :value [[:append 0 1]]}",
  );
});

test("a client without an outcome continues under another number, as do all clients of a killed process", () => {
  const history = merge(
    [
      {
        slot: 0,
        endedAt: 50,
        entries: [
          entry(1, 0, "invoke", 1),
          entry(2, 0, "info", 1),
          entry(3, 0, "invoke", 2),
          entry(4, 1, "invoke", 3),
          entry(5, 1, "ok", 3),
        ],
      },
      { slot: 0, endedAt: 99, entries: [entry(60, 0, "invoke", 4), entry(61, 0, "ok", 4)] },
    ],
    2,
  );
  expect(shown(history)).toEqual([
    "1 invoke 0",
    "2 info 0",
    "3 invoke 2",
    "4 invoke 1",
    "5 ok 1",
    "50 info 2",
    "60 invoke 4",
    "61 ok 4",
  ]);
  expect(checkWellFormed(history)).toEqual([]);
});

test("operations at the same time are concurrent", () => {
  const history = merge(
    [
      { slot: 0, endedAt: 9, entries: [entry(1, 0, "invoke", 1), entry(5, 0, "ok", 1)] },
      { slot: 1, endedAt: 9, entries: [entry(5, 0, "invoke", 2), entry(6, 0, "ok", 2)] },
    ],
    1,
  );
  expect(shown(history)).toEqual(["1 invoke 0", "5 invoke 1", "5 ok 0", "6 ok 1"]);
});
