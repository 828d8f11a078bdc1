import { expect, test } from "vitest";
import { type Database, open } from "../database/index.js";
import { schedule } from "../recipes/index.js";
import { type AnyTable, float, int, json, table, text, tuple } from "../schema/index.js";
import { overdueSchedules } from "./overdue.js";

const value = text();
const never = new AbortController().signal;
const nowMs = 1_000_000;

async function put(db: Database, to: ReturnType<typeof reminders>, times: readonly number[]): Promise<void> {
  await db.transact(async (tx) => {
    for (const [index, time] of times.entries()) await to.at(tx, `key ${index}`, time, "x");
  });
}

const reminders = (spreads: number) => schedule("reminders", { value, fire: () => {}, spreads });

/** Times in random order. */
const mixed = (count: number) => Array.from({ length: count }, (_, index) => 1_000 + ((index * 7) % count));

test.each([
  [1, 0],
  [1, 30],
  [16, 30],
  [1_024, 30],
])("counts what should have fired in all of %i spreads, %i changes", async (spreads, count) => {
  const scheduled = reminders(spreads);
  await using db = await open("memory:", { tables: scheduled.tables });
  await put(db, scheduled, [...mixed(count), nowMs + 1, nowMs * 2, 8e15]);
  expect(await overdueSchedules(db, nowMs, never, 100)).toEqual([
    {
      schedule: "reminders",
      count,
      more: false,
      oldest: count === 0 ? undefined : new Date(1_000),
    },
  ]);
});

test("counts changes that are due at the given time", async () => {
  const scheduled = reminders(4);
  await using db = await open("memory:", { tables: scheduled.tables });
  await put(db, scheduled, [nowMs]);
  expect(await overdueSchedules(db, nowMs, never, 100)).toMatchObject([{ count: 1 }]);
  expect(await overdueSchedules(db, nowMs - 1, never, 100)).toMatchObject([{ count: 0 }]);
});

test.each([1, 16])("says that there are more only if there are, in %i spreads", async (spreads) => {
  const scheduled = reminders(spreads);
  await using db = await open("memory:", { tables: scheduled.tables });
  await put(db, scheduled, mixed(30));
  for (const [max, count, more] of [
    [29, 29, true],
    [30, 30, false],
    [31, 30, false],
  ] as const) {
    expect(await overdueSchedules(db, nowMs, never, max)).toMatchObject([{ count, more }]);
  }
});

const key = tuple(int(), float(), text());
const like = {
  jobs: table("jobs", { dueAt: float() }),
  due: table("jobs_due", { delays: int() }, { key }),
  parked: table("jobs_parked", { parked: json() }),
};

test("recognizes a schedule by the names and columns of its tables", async () => {
  await using db = await open("memory:", { tables: Object.values(like) });
  expect(await overdueSchedules(db, nowMs, never, 100)).toMatchObject([{ schedule: "jobs", count: 0 }]);
});

test.each<readonly [string, Readonly<Record<string, AnyTable>>]>([
  ["another time", { jobs: table("jobs", { dueAt: int() }) }],
  ["no delays", { due: table("jobs_due", { count: int() }, { key }) }],
  ["another key", { due: table("jobs_due", { delays: int() }) }],
  ["something else parked", { parked: table("jobs_parked", { parked: text() }) }],
  ["another table for what is parked", { parked: table("jobs_given_up", { parked: json() }) }],
])("does not take tables with %s for a schedule", async (_, others) => {
  await using db = await open("memory:", { tables: Object.values({ ...like, ...others }) });
  expect(await overdueSchedules(db, nowMs, never, 100)).toEqual([]);
});
