import { InvalidArgumentError, open, table, text } from "percolatordb";
import { describe, expect, test } from "vitest";
import { gather } from "../../test/support/gather.js";
import {
  clearRange,
  combineQueue,
  combiningCounter,
  eventualIndex,
  exactIndex,
  exportQueue,
  rateLimit,
  schedule,
  spreadTable,
  uniqueConstraint,
} from "./index.js";

// A recipe refuses an invalid option at once. It does not ignore the option, and does not wait for
// the first transaction that needs it.

const users = table("users", { email: text() });
const value = text();
const run = () => {};
const by = (email: string) => email;
const index = { by: text(), of: (email: string) => [email] };
const as = (options: object) => options as never;

/** Creates each recipe from valid options and some others. */
const recipes: Readonly<Record<string, (others: object) => unknown>> = {
  schedule: (others) => schedule("x", as({ value, fire: run, ...others })),
  combineQueue: (others) => combineQueue("x", as({ value, update: value, combine: run, ...others })),
  combiningCounter: (others) => combiningCounter("x", as(others)),
  exportQueue: (others) => exportQueue("x", as({ value, deliver: run, ...others })),
  rateLimit: (others) => rateLimit("x", as({ perSecond: 1, ...others })),
  uniqueConstraint: (others) => uniqueConstraint("x", users.email, as({ by, ...others })),
  eventualIndex: (others) => eventualIndex("x", users.email, as({ ...index, ...others })),
  exactIndex: (others) => exactIndex("x", users.email, as({ ...index, ...others })),
  spreadTable: (others) => spreadTable("x", { value }, as(others)),
};

test.each(Object.entries(recipes))("%s refuses an unknown option, and names the known ones", (name, make) => {
  make({ retrys: undefined });
  expect(() => make({ retrys: 3 })).toThrow(InvalidArgumentError);
  expect(() => make({ retrys: 3 })).toThrow(`\`${name}\` has no option \`retrys\`. It takes \``);
});

const functions: readonly (readonly [string, string])[] = [
  ["schedule", "fire"],
  ["combineQueue", "combine"],
  ["exportQueue", "deliver"],
  ["uniqueConstraint", "by"],
  ["eventualIndex", "of"],
  ["exactIndex", "of"],
];

test.each(functions)("%s refuses an option `%s` that is not a function", (name, option) => {
  for (const wrong of [undefined, null, 5, "a", {}]) {
    expect(() => recipes[name]!({ [option]: wrong })).toThrow(InvalidArgumentError);
    expect(() => recipes[name]!({ [option]: wrong })).toThrow(
      `\`${option}\` of \`${name}\` must be a function`,
    );
  }
});

test.each([
  ["schedule", "onError"],
  ["combineQueue", "onChange"],
])("%s refuses an option `%s` that is not a function, but does not require it", (name, option) => {
  recipes[name]!({ [option]: undefined });
  expect(() => recipes[name]!({ [option]: 5 })).toThrow(`\`${option}\` of \`${name}\` must be a function`);
});

describe("calls of recipes", () => {
  const exact = exactIndex("by_email", users.email, index);
  const queue = exportQueue("mails", { value: text(), deliver: run });
  const limit = rateLimit("limit", { perSecond: 1 });
  const due = schedule("due", { value, fire: run });
  const tables = [users, exact.table, ...queue.tables, limit.table, ...due.tables];

  test.each([Number.NaN, -1, 0.5, "1", undefined, null, Number.POSITIVE_INFINITY])(
    "skip discards nothing for a sequence of %s",
    async (sequence) => {
      await using db = await open("memory:", { tables });
      await db.transact(async (tx) => {
        for (const each of ["one", "two"]) await queue.add(tx, "ann", each);
      });
      const skipping = db.transact((tx) => queue.skip(tx, "ann", sequence as never));
      await expect(skipping).rejects.toBeInstanceOf(InvalidArgumentError);
      expect(await db.transact((tx) => queue.waiting(tx, "ann"))).toBe(2);
    },
  );

  test("a time that is no number is named as it was given", async () => {
    await using db = await open("memory:", { tables });
    const at = (time: unknown) => db.transact((tx) => due.at(tx, "a", time as number, "x"));
    await expect(at("tomorrow")).rejects.toThrow(/`time` must be a number .*, not "tomorrow"\.$/);
    await expect(at(new Date(Number.NaN))).rejects.toThrow(/`time` must be a number .*, not NaN\.$/);
  });

  const wrong = as({ retrys: 3 });
  const calls: readonly (readonly [string, (db: Awaited<ReturnType<typeof open>>) => unknown])[] = [
    ["range", (db) => db.transact((tx) => gather(exact.range(tx, wrong)))],
    ["find", (db) => db.transact((tx) => gather(exact.find(tx, "a", wrong)))],
    ["take", (db) => db.transact((tx) => limit.take(tx, "a", wrong))],
    ["acquire", (db) => limit.acquire(db, "a", wrong)],
    ["work", (db) => due.work(db, wrong)],
    ["fireDue", (db) => due.fireDue(db, wrong)],
    ["clearRange", (db) => clearRange(db, users, wrong)],
    ["clearRange", (db) => clearRange(db, users, {}, wrong)],
  ];

  test.each(calls)("%s refuses an unknown option", async (_, call) => {
    await using db = await open("memory:", { tables });
    await expect(call(db)).rejects.toBeInstanceOf(InvalidArgumentError);
  });
});
