import { expect, test } from "vitest";
import { open, openWithHooks } from "../../../database/index.js";
import { ConflictError } from "../../../errors/index.js";
import { isObserver, observer, rowObservers } from "../../../observer/index.js";
import { bytes, family, float, int, json, table, text, tuple } from "../../../schema/index.js";
import type { CommitHooks } from "../../../transaction/index.js";
import { Transaction } from "../../../transaction/index.js";
import { checkHistory } from "../check/check.js";
import { toElle } from "../elle.js";
import { HistoryRecorder } from "./recorder.js";

const things = table("things", {
  name: text(),
  count: int(),
  weight: float(),
  list: json<readonly number[]>(),
  raw: bytes(),
  parts: family(text()),
});
const pairs = table("pairs", { count: int() }, { key: tuple(text(), int()) });

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}

test("a recorded transaction has the same interface and results as a transaction", async () => {
  await using db = await open("memory:");
  const recorder = new HistoryRecorder();
  const tx = await recorder.client("a").begin(db, { label: "first" });
  expect(tx).toBeInstanceOf(Transaction);
  tx.set(things.name, "a", "é");
  tx.set(things.weight, "a", -0);
  tx.set(things.raw, "a", Buffer.from([0, 255]));
  tx.set(things.list, "a", [1, 2]);
  tx.set(things.parts.at("q"), "a", "part");
  tx.set(pairs.count, ["x", 1], 5);
  expect(await tx.get(things.name, "a")).toBe("é");
  await tx.commit();
  expect(tx.commitTimestamp).toBeGreaterThan(tx.startTimestamp);
  const [recorded] = recorder.history().transactions;
  expect(recorded).toMatchObject({
    id: 1,
    client: "a",
    label: "first",
    kind: "transaction",
    isolation: "snapshot",
    startTimestamp: tx.startTimestamp,
    outcome: { type: "committed", commitTimestamp: tx.commitTimestamp },
  });
  expect(recorded!.operations.map(({ type, ...rest }) => [type, "value" in rest ? rest.value : ""])).toEqual([
    ["write", '"é"'],
    ["write", "-0"],
    ["write", "0x00ff"],
    ["write", "[1,2]"],
    ["write", '"part"'],
    ["write", "5"],
    ["read", '"é"'],
  ]);
});

test("every kind of read and write is recorded so that it can be checked", async () => {
  await using db = await open("memory:");
  const recorder = new HistoryRecorder();
  const client = recorder.client("a");
  await client.transact(db, (tx) => {
    for (const row of ["a", "b", "c"]) {
      tx.set(things.count, row, 1);
      tx.set(things.parts.at("x"), row, row);
      tx.set(things.parts.at("y"), row, row);
    }
    tx.set(pairs.count, ["x", 2], 2);
  });
  await client.transact(db, async (tx) => {
    await tx.deleteRow(things, "b");
    tx.delete(things.parts.at("x"), "a");
    expect(await tx.getMany(things.count, new Set(["a", "b"]))).toEqual([1, undefined]);
  });
  await using snapshot = await client.snapshot(db);
  expect((await all(snapshot.scan(things))).length).toBe(2);
  expect(await all(snapshot.scan(things.count, { reverse: true, limit: 1 }))).toEqual([
    { row: "c", value: 1 },
  ]);
  expect((await all(snapshot.scan(things.parts, { start: "a", end: "b" }))).length).toBe(1);
  expect(await all(snapshot.entries(things.parts, "a"))).toEqual([{ qualifier: "y", value: "a" }]);
  expect(await snapshot.row(things, "b")).toBeUndefined();
  expect(await all(snapshot.scan(pairs, { prefix: ["x"] }))).toEqual([
    { row: ["x", 2], value: { count: 2 } },
  ]);
  for await (const _ of snapshot.scan(things.count)) break;
  await recorder.audit(db);
  const report = checkHistory(recorder.history());
  expect(report.anomalies).toEqual([]);
  expect(report).toMatchObject({ committed: 3, ranges: 8, writes: 14 });
});

test("outcomes: conflict, each attempt by itself, rollback, failure, and a client that was never answered", async () => {
  const never = new Set<string | undefined>(["never answered"]);
  const hooks: CommitHooks = {
    step: (name, info, run) =>
      name === "one-phase-commit" && never.has(info.label) ? new Promise(() => {}) : run(),
  };
  await using db = await openWithHooks("memory:", { hooks });
  const recorder = new HistoryRecorder();
  const [a, b] = [recorder.client("a"), recorder.client("b")];
  const [one, two] = [await a.begin(db), await b.begin(db)];
  one.set(things.count, "a", 1);
  two.set(things.count, "a", 2);
  await one.commit();
  await expect(two.commit()).rejects.toThrow(ConflictError);
  let attempts = 0;
  await a.transact(db, async (tx) => {
    tx.set(things.count, "a", 10 + attempts);
    if (attempts++ === 0) await b.transact(db, (other) => other.set(things.count, "a", 20));
  });
  const rolledBack = await a.begin(db);
  rolledBack.set(things.count, "a", 30);
  await rolledBack.rollback();
  const failing = a.transact(db, (tx) => {
    tx.set(things.count, "a", 40);
    throw new Error("no");
  });
  await expect(failing).rejects.toThrow("no");
  const unanswered = await a.begin(db, { label: "never answered" });
  unanswered.set(things.count, "a", 50);
  void unanswered.commit();
  const history = recorder.history();
  expect(history.transactions.map(({ outcome }) => outcome.type)).toEqual([
    "committed",
    "conflicted",
    "conflicted",
    "committed",
    "committed",
    "failed",
    "failed",
    "unknown",
  ]);
  expect(history.transactions.at(-1)!.ended).toBeUndefined();
  expect(checkHistory(history).anomalies).toEqual([]);
});

test("a recorded observer is the same observer, and its runs are recorded", async () => {
  const recorder = new HistoryRecorder();
  const naming = observer(
    "naming",
    things.count,
    (tx, { row, value }) => tx.set(things.name, row, `${value}`),
    {
      version: 3,
      isolation: "serializable",
    },
  );
  const recorded = recorder.observer(naming);
  expect(isObserver(recorded)).toBe(true);
  expect({ ...recorded, run: undefined }).toEqual({ ...naming, run: undefined });
  await using db = await open("memory:", { observers: [recorded] });
  await recorder.client("a").transact(db, (tx) => tx.set(things.count, "a", 7));
  await db.drain();
  await recorder.audit(db);
  const history = recorder.history();
  expect(history.transactions[1]).toMatchObject({
    client: "observer naming",
    kind: "observer",
    isolation: "serializable",
    begun: undefined,
    outcome: { type: "committed" },
  });
  expect(history.transactions[1]!.operations.map(({ type }) => type)).toEqual(["read", "write"]);
  expect(checkHistory(history).anomalies).toEqual([]);
});

test("only list-append histories can be exported for Elle", async () => {
  await using db = await open("memory:");
  const recorder = new HistoryRecorder();
  await recorder.client("a").transact(db, (tx) => tx.set(things.list, "a", [1, 2]));
  expect(() => toElle(recorder.history())).toThrow(
    /T1 set things\.list\["a"\] to \[1,2\].*append one element/,
  );
  const other = new HistoryRecorder();
  await other.client("a").transact(db, (tx) => all(tx.scan(things.list)));
  expect(() => toElle(other.history())).toThrow(/T1 read a range of "things"/);
  const third = new HistoryRecorder();
  await third.client("a").transact(db, (tx) => tx.set(things.count, "a", 1));
  expect(() => toElle(third.history())).toThrow(/T1 has 1 for things\.count\["a"\]/);
});

test("a run that row observers share reads only what it reads itself", async () => {
  const recorder = new HistoryRecorder();
  const labels = rowObservers("label", [things.name, things.count], async (tx, { row }) => {
    tx.set(things.raw, row, Buffer.from([(await tx.get(things.count, row)) ?? 0]));
  });
  const observers = labels.map((each) => recorder.observer(each));
  await using db = await open("memory:", { tables: [things], observers });
  await recorder.client("a").transact(db, (tx) => {
    tx.set(things.name, "a", "one");
    tx.set(things.count, "a", 1);
  });
  await db.drain();
  const history = recorder.history();
  const runs = history.transactions.filter(({ kind }) => kind === "observer");
  expect(runs.map(({ operations }) => operations.map(({ type }) => type))).toEqual([["read", "write"]]);
  expect(checkHistory(history).anomalies).toEqual([]);
});

test("a transaction that is left while it commits has the outcome of the commit", async () => {
  let go = () => {};
  const going = new Promise<void>((resolve) => {
    go = resolve;
  });
  const hooks: CommitHooks = {
    step: async (name, info, run) => {
      if (name === "one-phase-commit" && info.label === "slow") await going;
      return run();
    },
  };
  await using db = await openWithHooks("memory:", { hooks, tables: [things] });
  const recorder = new HistoryRecorder();
  let committing: Promise<void> | undefined;
  {
    await using tx = await recorder.client("a").begin(db, { label: "slow" });
    tx.set(things.count, "a", 1);
    committing = tx.commit();
    await tx.rollback();
  }
  expect(recorder.history().transactions[0]!.outcome.type).toBe("unknown");
  go();
  await committing;
  expect(recorder.history().transactions[0]!.outcome.type).toBe("committed");
  await recorder.audit(db);
  expect(checkHistory(recorder.history()).anomalies).toEqual([]);
});
