import {
  AbortedError,
  family,
  int,
  LimitExceededError,
  open,
  SchemaError,
  table,
  text,
  tuple,
} from "percolatordb";
import { memoryStore } from "percolatordb/memory";
import { describe, expect, test } from "vitest";
import { variants, withDatabase } from "../../test/support/databases.js";
import { gather } from "../../test/support/gather.js";
import { clearRange, columnWriter, exactIndex, uniqueConstraint } from "./index.js";

const visits = table("visits", { seconds: int(), notes: family(text()) }, { key: tuple(text(), int()) });

describe.each(variants)("on $store, $commit", (variant) => {
  test("the rows of a range are deleted in bounded transactions, and no others", async () => {
    await withDatabase(variant, { tables: [visits], retentionMs: 0 }, async (db) => {
      await db.transact((tx) => {
        for (let n = 0; n < 25; n++) {
          for (const day of ["monday", "tuesday"]) {
            tx.set(visits.seconds, [day, n], n);
            tx.set(visits.notes.at("x"), [day, n], "note");
          }
        }
      });
      const progress: number[] = [];
      const options = { batch: 10, collect: true, onProgress: (rows: number) => progress.push(rows) };
      expect(await clearRange(db, visits, { prefix: ["monday"], start: ["monday", 3] }, options)).toBe(22);
      expect(progress).toEqual([10, 20, 22]);
      await using snapshot = await db.snapshot();
      const left = (await gather(snapshot.scan(visits))).map(({ row: [day, n] }) => `${day} ${n}`);
      expect(left).toHaveLength(3 + 25);
      expect(left.slice(0, 4)).toEqual(["monday 0", "monday 1", "monday 2", "tuesday 0"]);
      expect(await clearRange(db, visits, { prefix: ["monday"], end: ["monday", 3] })).toBe(3);
      expect(await clearRange(db, visits, { start: ["tuesday"] }, { batch: 10 })).toBe(25);
      expect(await db.check()).toEqual([]);
    });
  });
});

test("entries of unique constraints and exact indexes are deleted with the rows, or nothing is", async () => {
  const users = table("users", { email: text(), city: text() }, { key: tuple(text(), text()) });
  const emails = uniqueConstraint("emails", users.email, { by: (email) => email });
  const cities = exactIndex("cities", users.city, { by: text(), of: (city) => [city] });
  await using db = await open("memory:", { tables: [users, emails.table, cities.table] });
  const add = (tenant: string, name: string, email: string) =>
    db.transact(async (tx) => {
      await emails.set(tx, [tenant, name], email);
      await cities.set(tx, [tenant, name], "Oslo");
    });
  for (const name of ["u1", "u2", "u3"]) await add("acme", name, `${name}@example.org`);
  await add("globex", "u1", "other@example.org");
  const some = { lookups: [emails], batch: 2 };
  for (const options of [{}, some]) {
    const clearing = clearRange(db, users, { prefix: ["acme"] }, options);
    await expect(clearing).rejects.toThrow(SchemaError);
    await expect(clearing).rejects.toThrow(
      options === some ? /entry of table cities for column users\.city/ : /await/,
    );
  }
  await using before = await db.snapshot();
  expect(await gather(before.scan(users))).toHaveLength(4);
  await clearRange(db, users, { prefix: ["acme"] }, { lookups: [emails, cities], batch: 2 });
  await add("globex", "u2", "u1@example.org");
  await using view = await db.snapshot();
  expect(await gather(cities.find(view, "Oslo"))).toEqual([
    ["globex", "u1"],
    ["globex", "u2"],
  ]);
});

test("after garbage collection nothing is left in the store", async () => {
  await using db = await open("memory:", { retentionMs: 0 });
  await db.transact((tx) => tx.set(visits.seconds, ["monday", 1], 1));
  await clearRange(db, visits, {}, { collect: true });
  expect(await db.inspect(visits, ["monday", 1])).toEqual([]);
});

test("it can be aborted, and continues from there", async () => {
  await using db = await open("memory:");
  await db.transact((tx) => {
    for (let n = 0; n < 10; n++) tx.set(visits.seconds, ["monday", n], n);
  });
  const controller = new AbortController();
  const clearing = clearRange(
    db,
    visits,
    {},
    { batch: 4, signal: controller.signal, onProgress: () => controller.abort() },
  );
  await expect(clearing).rejects.toThrow(AbortedError);
  expect(await clearRange(db, visits, {}, { batch: 4 })).toBe(6);
});

test("rows with many cells are deleted in transactions of limited size, and a too large row in pieces", async () => {
  await using db = await open("memory:", { transactionBytes: 64 * 1024 });
  const write = (n: number, from: number, to: number) =>
    db.transact((tx) => {
      for (let cell = from; cell < to; cell++) tx.set(visits.notes.at(`${cell}`), ["monday", n], "note");
    });
  for (let n = 0; n < 100; n++) await write(n, 0, 50);
  for (let part = 0; part < 5; part++) await write(40, part * 200, part * 200 + 200);
  expect(await clearRange(db, visits, {})).toBe(100);
  await using snapshot = await db.snapshot();
  expect(await gather(snapshot.scan(visits))).toEqual([]);
});

test("if a transaction holds not even one delete, it does not loop endlessly", async () => {
  const store = memoryStore();
  await using db = await open(store);
  await db.transact((tx) => tx.set(visits.seconds, ["monday", 1], 1));
  await using small = await open(store, { transactionBytes: 50 });
  await expect(clearRange(small, visits, {})).rejects.toThrow(LimitExceededError);
});

test("entries of several lookups of one column are all deleted, in whatever order they are given", async () => {
  const users = table("users", { email: text() });
  const emails = uniqueConstraint("emails", users.email, { by: (email) => email });
  const domains = exactIndex("domains", users.email, { by: text(), of: (email) => [email.split("@")[1]!] });
  const email = columnWriter(emails, domains);
  await using other = await open("memory:", { tables: [users, emails.table, domains.table] });
  await other.transact((tx) => email.set(tx, "ann", "ann@example.org"));
  for (const each of [emails, domains]) {
    const left = each === emails ? "domains" : "emails";
    await expect(clearRange(other, users, {}, { lookups: [each] })).rejects.toThrow(
      `The entries of table ${left} for column users.email would stay`,
    );
  }
  await using view = await other.snapshot();
  expect(await gather(view.scan(users))).toHaveLength(1);
  for (const lookups of [[emails, domains], [domains, emails], [email]]) {
    await using db = await open("memory:", { tables: [users, emails.table, domains.table] });
    await db.transact((tx) => email.set(tx, "ann", "ann@example.org"));
    expect(await clearRange(db, users, {}, { lookups })).toBe(1);
    await using view = await db.snapshot();
    for (const { table: entries } of [emails, domains]) expect(await gather(view.scan(entries))).toEqual([]);
  }
});
