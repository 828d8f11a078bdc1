import { open, table, text } from "percolatordb";
import { TestClock } from "percolatordb/testing";
import { expect, test } from "vitest";
import { gather } from "../../test/support/gather.js";
import {
  type ExportEntry,
  exactIndex,
  exportQueue,
  rateLimit,
  schedule,
  UniqueConstraintError,
  uniqueConstraint,
} from "./index.js";

const users = table("users", { email: text() });

test("entries that one transaction adds concurrently are numbered, and all delivered", async () => {
  const delivered: ExportEntry<string>[] = [];
  const queue = exportQueue("queue", {
    value: text(),
    deliver: (entries) => void delivered.push(...entries),
  });
  await using db = await open("memory:", { observers: [queue.observer] });
  const sequences = await db.transact((tx) =>
    Promise.all([queue.add(tx, "a", "x"), queue.add(tx, "a", "y")]),
  );
  expect(sequences[1]).toBeGreaterThan(sequences[0]);
  await db.drain();
  expect(delivered.map(({ value }) => value)).toEqual(["x", "y"]);
});

test("if two rows concurrently take a value in one transaction, one gets it; the next call is not affected", async () => {
  const emails = uniqueConstraint("emails", users.email, { by: (email) => email });
  await using db = await open("memory:");
  const ends = await db.transact((tx) =>
    Promise.allSettled([
      emails.set(tx, "one", "a"),
      emails.set(tx, "two", "a"),
      emails.set(tx, "three", "b"),
    ]),
  );
  expect(ends.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
  expect((ends[1] as PromiseRejectedResult).reason).toBeInstanceOf(UniqueConstraintError);
  expect(await db.transact((tx) => emails.find(tx, "a"))).toBe("one");
});

test("if one transaction concurrently takes one token twice, one call gets it", async () => {
  const environment = new TestClock().process();
  const limit = rateLimit("limit", { perSecond: 1, environment });
  await using db = await open("memory:");
  const taken = await db.transact((tx) => Promise.all([limit.take(tx, "a"), limit.take(tx, "a")]));
  expect(taken.map(({ isGranted }) => isGranted)).toEqual([true, false]);
});

test("if one transaction concurrently sets two times for a key, the later call's is kept", async () => {
  const environment = new TestClock().process();
  const due = schedule("due", { value: text(), environment, fire: () => {} });
  const later = environment.now() + 1_000;
  await using db = await open("memory:");
  await db.transact((tx) => Promise.all([due.at(tx, "a", 1, "first"), due.at(tx, "a", later, "second")]));
  expect(await due.fireDue(db)).toBe(0);
  expect(await db.transact((tx) => due.get(tx, "a"))).toEqual({ key: "a", dueAt: later, value: "second" });
});

test("a row that is concurrently set twice in one transaction is found by its final value", async () => {
  const byEmail = exactIndex("by_email", users.email, { by: text(), of: (email) => [email] });
  await using db = await open("memory:");
  await db.transact((tx) => Promise.all([byEmail.set(tx, "one", "a"), byEmail.set(tx, "one", "b")]));
  await using snapshot = await db.snapshot();
  expect((await gather(byEmail.range(snapshot))).map(({ by }) => by)).toEqual(["b"]);
});
