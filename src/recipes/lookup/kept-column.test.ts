import fc from "fast-check";
import { open, table, text, tuple } from "percolatordb";
import { describe, expect, test } from "vitest";
import { variants, withDatabase } from "../../../test/support/databases.js";
import { gather } from "../../../test/support/gather.js";
import { columnWriter, exactIndex, UniqueConstraintError, uniqueConstraint } from "../index.js";

const users = table("users", { email: text(), name: text() }, { key: tuple(text(), text()) });
const emails = uniqueConstraint("emails", users.email, { by: (email) => email.toLowerCase() });
const byDomain = exactIndex("by_domain", users.email, { by: text(), of: (email) => [email.split("@")[1]!] });
const byLetter = exactIndex("by_letter", users.email, { by: text(), of: (email) => [...email.slice(0, 1)] });
const email = columnWriter(emails, byDomain, byLetter);
const tables = [users, emails.table, byDomain.table, byLetter.table];

describe.each(variants)("on $store, $commit", (variant) => {
  test("a column with a unique constraint and indexes is written with all of them, or not at all", async () => {
    await withDatabase(variant, { tables }, async (db) => {
      const setting = Array.from({ length: 6 }, (_, n) =>
        db.transact((tx) => email.set(tx, ["u", `${n}`], n % 2 === 0 ? "ann@x" : `b${n}@y`)),
      );
      const ends = await Promise.allSettled(setting);
      expect(ends.filter(({ status }) => status === "rejected")).toHaveLength(2);
      await db.transact(async (tx) => {
        await expect(email.set(tx, ["u", "1"], "ANN@x")).rejects.toThrow(UniqueConstraintError);
        await email.set(tx, ["u", "3"], "c@x");
        await email.delete(tx, ["u", "5"]);
        await email.delete(tx, ["u", "nothing"]);
      });
      await using snapshot = await db.snapshot();
      const owner = await emails.find(snapshot, "Ann@x");
      expect(await emails.findByKey(snapshot, "ann@x")).toEqual(owner);
      expect(await emails.findByKey(snapshot, "Ann@x")).toBeUndefined();
      expect(await emails.findByKey(snapshot, "b3@y")).toBeUndefined();
      expect(await gather(byDomain.find(snapshot, "x"))).toEqual([owner, ["u", "3"]].sort());
      expect(await gather(byDomain.find(snapshot, "y"))).toEqual([["u", "1"]]);
      expect(await gather(byLetter.range(snapshot))).toEqual([
        { by: "a", row: owner },
        { by: "b", row: ["u", "1"] },
        { by: "c", row: ["u", "3"] },
      ]);
      expect(await db.check()).toEqual([]);
    });
  });
});

test("after any concurrent or sequential writes in one transaction, constraint and indexes agree with the column", async () => {
  const write = fc.record({
    row: fc.constantFrom("1", "2", "3"),
    value: fc.option(fc.constantFrom("a@x", "A@x", "b@x", "b@y"), { nil: undefined }),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(fc.array(write, { maxLength: 4 }), { maxLength: 5 }), async (transactions) => {
      await using db = await open("memory:", { tables });
      for (const writes of transactions) {
        await db.transact(async (tx) => {
          const all = writes.map(({ row, value }) =>
            value === undefined ? email.delete(tx, ["u", row]) : email.set(tx, ["u", row], value),
          );
          // The refused writes change nothing, and the transaction commits the others.
          await Promise.allSettled(all);
        });
      }
      await using snapshot = await db.snapshot();
      const held = await gather(snapshot.scan(users.email));
      const owned = await Promise.all(held.map(({ value }) => emails.find(snapshot, value)));
      expect(owned).toEqual(held.map(({ row }) => row));
      const sorted = (entries: readonly { by: string; row: unknown }[]) =>
        entries.map((entry) => JSON.stringify(entry)).sort();
      const entriesOf = (of: (value: string) => string) =>
        sorted(held.map(({ row, value }) => ({ by: of(value), row })));
      expect(sorted(await gather(byDomain.range(snapshot)))).toEqual(
        entriesOf((value) => value.split("@")[1]!),
      );
      expect(sorted(await gather(byLetter.range(snapshot)))).toEqual(entriesOf((value) => value[0]!));
      const keys = ["a@x", "b@x", "b@y"];
      const owners = await Promise.all(keys.map((key) => emails.findByKey(snapshot, key)));
      expect(owners.filter((owner) => owner !== undefined)).toHaveLength(held.length);
    }),
    { numRuns: 100 },
  );
});

test("a writer refuses constraints of different columns", () => {
  const names = uniqueConstraint("names", users.name, { by: (name) => name });
  expect(() => columnWriter(emails, names)).toThrow("not of users.email and users.name");
});

test("an entry that is too long refuses the value, and nothing of it is written", async () => {
  const words = exactIndex("words", users.name, { by: text(), of: (name) => name.split(" ") });
  const names = uniqueConstraint("names", users.name, { by: (name) => name.slice(0, 10) });
  await using db = await open("memory:", { tables: [users, words.table, names.table] });
  const row = ["u", "1"] as const;
  await db.transact((tx) => columnWriter(names, words).set(tx, row, "ann"));
  for (const writer of [words, columnWriter(names, words), columnWriter(words, names)]) {
    await db.transact(async (tx) => {
      const setting = writer.set(tx, row, `bob and ${"x".repeat(1_499)}`);
      await expect(setting).rejects.toMatchObject({
        code: "INVALID_KEY",
        message: expect.stringContaining('Index "words"'),
      });
    });
    await using snapshot = await db.snapshot();
    expect(await snapshot.get(users.name, row)).toBe("ann");
    expect(await gather(words.range(snapshot))).toEqual([{ by: "ann", row }]);
    expect(await names.find(snapshot, "ann")).toEqual(row);
    expect(await names.findByKey(snapshot, "bob and xx")).toBeUndefined();
  }
});

test("`set` without a value is refused, and deletes nothing", async () => {
  await using db = await open("memory:", { tables });
  await db.transact((tx) => email.set(tx, ["u", "1"], "ann@x"));
  for (const keeper of [emails, byDomain, email]) {
    const setting = db.transact((tx) => keeper.set(tx, ["u", "1"], undefined as never));
    await expect(setting).rejects.toMatchObject({ code: "INVALID_VALUE" });
  }
  await using snapshot = await db.snapshot();
  expect(await snapshot.get(users.email, ["u", "1"])).toBe("ann@x");
});
