import { open, table, text, tuple } from "percolatordb";
import { describe, expect, test } from "vitest";
import { variants, withDatabase } from "../../../test/support/databases.js";
import { UniqueConstraintError, uniqueConstraint } from "../index.js";

const users = table("users", { email: text() });
const emails = uniqueConstraint("emails", users.email, { by: (email) => email.toLowerCase() });

describe.each(variants)("on $store, $commit", (variant) => {
  test("of several rows that take a value at the same time, one gets it, and the others get its name", async () => {
    await withDatabase(variant, { tables: [users, emails.table] }, async (db) => {
      const wanting = Array.from({ length: 6 }, (_, n) =>
        db.transact((tx) => emails.set(tx, `user ${n}`, n % 2 === 0 ? "ann@x.example" : "ANN@x.example")),
      );
      const ends = await Promise.allSettled(wanting);
      const refused = ends.flatMap((end) => (end.status === "rejected" ? [end.reason as unknown] : []));
      expect(refused).toHaveLength(5);
      const owner = await db.transact((tx) => emails.find(tx, "Ann@X.example"));
      expect(await db.transact((tx) => tx.get(users.email, owner!))).toMatch(/ann@x.example/i);
      for (const error of refused) {
        expect(error).toBeInstanceOf(UniqueConstraintError);
        expect(error).toMatchObject({ code: "INVALID_VALUE", retryable: false, constraint: "emails", owner });
      }
    });
  });
});

test("a value is free again when its row takes another value, or is deleted", async () => {
  await using db = await open("memory:");
  await db.transact((tx) => emails.set(tx, "one", "a"));
  await db.transact((tx) => emails.set(tx, "one", "A")); // the same value, and the same owner
  expect(await db.transact((tx) => tx.get(users.email, "one"))).toBe("A");
  await expect(db.transact((tx) => emails.set(tx, "two", "a"))).rejects.toThrow(
    'Unique constraint "emails": "a" is taken by row "one", so row "two" cannot have it.',
  );
  await db.transact((tx) => emails.set(tx, "one", "b"));
  await db.transact((tx) => emails.set(tx, "two", "a"));
  await db.transact((tx) => emails.delete(tx, "one"));
  await db.transact((tx) => emails.delete(tx, "one"));
  await db.transact((tx) => emails.set(tx, "three", "b"));
  const owners = await db.transact((tx) =>
    Promise.all(["a", "b", "c"].map((value) => emails.find(tx, value))),
  );
  expect(owners).toEqual(["two", "three", undefined]);
});

test("an error names composite keys as they are written on command lines", async () => {
  const members = table("members", { email: text() }, { key: tuple(text(), text()) });
  const unique = uniqueConstraint("member_emails", members.email, { by: (email) => email });
  await using db = await open("memory:", { tables: [members, unique.table] });
  await db.transact((tx) => unique.set(tx, ["globex", "u1"], "a"));
  await expect(db.transact((tx) => unique.set(tx, ["globex", "u2"], "a"))).rejects.toThrow(
    'Unique constraint "member_emails": "a" is taken by row ["globex","u1"], so row ["globex","u2"] cannot have it.',
  );
});

test("a value without a key is refused", async () => {
  const unique = uniqueConstraint("by_nothing", users.email, { by: () => undefined as never });
  await using db = await open("memory:", { tables: [users, unique.table] });
  await expect(db.transact((tx) => unique.set(tx, "one", "a"))).rejects.toThrow(
    'Unique constraint "by_nothing", row "one": `by` must return a string, not undefined.',
  );
});

test("two rows can exchange their values in one transaction", async () => {
  await using db = await open("memory:");
  await db.transact(async (tx) => {
    await emails.set(tx, "one", "a");
    await emails.set(tx, "two", "b");
  });
  await db.transact(async (tx) => {
    await emails.delete(tx, "one");
    await emails.set(tx, "two", "a");
    await emails.set(tx, "one", "b");
  });
  const owners = await db.transact((tx) => Promise.all(["a", "b"].map((value) => emails.find(tx, value))));
  expect(owners).toEqual(["two", "one"]);
});

test("a row does not free a value that another row owns, even if its column has it too", async () => {
  await using db = await open("memory:");
  await db.transact((tx) => {
    for (const row of ["u1", "u2", "u4"]) tx.set(users.email, row, "x");
  });
  await db.transact((tx) => emails.set(tx, "u2", "x"));
  await expect(db.transact((tx) => emails.set(tx, "u1", "x"))).rejects.toThrow(UniqueConstraintError);
  await db.transact((tx) => emails.set(tx, "u1", "x2"));
  await expect(db.transact((tx) => emails.set(tx, "u3", "x"))).rejects.toThrow(UniqueConstraintError);
  await db.transact((tx) => emails.delete(tx, "u4"));
  await expect(db.transact((tx) => emails.set(tx, "u3", "x"))).rejects.toThrow(UniqueConstraintError);
});

test("with a part of the row's key, a value is unique among the rows of a tenant", async () => {
  const members = table("members", { email: text() }, { key: tuple(text(), text()) });
  const unique = uniqueConstraint("member_emails", members.email, {
    by: (email, [tenant]) => JSON.stringify([tenant, email.toLowerCase()]),
  });
  await using db = await open("memory:", { tables: [members, unique.table] });
  await db.transact((tx) => unique.set(tx, ["acme", "u1"], "A"));
  await db.transact((tx) => unique.set(tx, ["globex", "u1"], "A"));
  await expect(db.transact((tx) => unique.set(tx, ["globex", "u2"], "a"))).rejects.toThrow(
    UniqueConstraintError,
  );
  const find = (tenant: string) => db.transact((tx) => unique.find(tx, "a", [tenant, ""]));
  expect([await find("acme"), await find("globex"), await find("initech")]).toEqual([
    ["acme", "u1"],
    ["globex", "u1"],
    undefined,
  ]);
  await expect(db.transact((tx) => unique.find(tx, "a"))).rejects.toThrow(
    /`by` of the unique constraint "member_emails" takes a row's key too/,
  );

  await db.transact((tx) => unique.set(tx, ["globex", "u1"], "b"));
  await db.transact((tx) => unique.set(tx, ["globex", "u2"], "a"));
  await db.transact((tx) => unique.delete(tx, ["acme", "u1"]));
  expect([await find("acme"), await find("globex")]).toEqual([undefined, ["globex", "u2"]]);
  // Without the constraint, for the rebuild.
  await db.transact((tx) => {
    tx.set(members.email, ["acme", "u3"], "a");
    tx.set(members.email, ["globex", "u3"], "A");
    tx.delete(members.email, ["globex", "u1"]);
  });
  expect(await unique.rebuild(db)).toMatchObject({
    added: 1,
    removed: 1,
    examples: [{ key: '["globex","a"]', owner: '["globex","u2"]', row: '["globex","u3"]' }],
  });
  expect(await find("acme")).toEqual(["acme", "u3"]);
});
