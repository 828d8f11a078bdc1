import { type Database, int, observer, open, systemEnvironment, table, text } from "percolatordb";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { newPlace, type PostgresPlace, removePlace } from "../support/postgres/index.js";

/** Processes whose clocks are wrong, on a server whose clock is right. */

const notes = table("notes", { text: text(), copy: text(), runs: int() });
const copies = observer("copies", notes.text, async (tx, { row, value }) => {
  tx.set(notes.copy, row, value ?? "");
  tx.set(notes.runs, row, ((await tx.get(notes.runs, row)) ?? 0) + 1);
});
const codes = table("codes", { code: text() }, { ttlMs: 3_600_000 });
const dayMs = 86_400_000;

let place: PostgresPlace;
const opened: Database[] = [];
beforeEach(async () => {
  place = await newPlace();
});
afterEach(async () => {
  await Promise.all(opened.splice(0).map((db) => db.close()));
  await removePlace(place);
});

/** A process whose wall clock is off. */
async function openOff(offMs: number): Promise<Database> {
  const environment = { ...systemEnvironment, now: () => systemEnvironment.now() + offMs };
  const db = await open(place.location, {
    environment,
    tables: [codes],
    observers: [copies],
    collectEveryMs: 0,
    expireEveryMs: 0,
  });
  opened.push(db);
  return db;
}

const timestampOf = async (db: Database) => {
  await using snapshot = await db.snapshot();
  return snapshot.timestamp;
};

describe.each([
  ["a day ahead", dayMs],
  ["a day behind", -dayMs],
])("a process whose clock is %s", (_, offMs) => {
  test("gets the same timestamps as the others, near the server's clock", async () => {
    const [right, wrong] = [await openOff(0), await openOff(offMs)];
    const timestamps: number[] = [];
    for (const db of [right, wrong, right, wrong]) {
      await db.transact((tx) => tx.set(notes.text, "a", "x"));
      timestamps.push(await timestampOf(db));
    }
    expect(timestamps).toEqual([...timestamps].sort((a, b) => a - b));
    for (const each of timestamps) expect(Math.abs(each / 1_000 - Date.now())).toBeLessThan(3_600_000);
  });

  test("works beside the others: each change is handled once", async () => {
    const [right, wrong] = [await openOff(0), await openOff(offMs)];
    right.work();
    wrong.work();
    for (let i = 0; i < 40; i++)
      await (i % 2 === 0 ? right : wrong).transact((tx) => tx.set(notes.text, `n${i}`, "x"));
    for (const db of [right, wrong]) await db.idle();
    await using snapshot = await right.snapshot();
    let rows = 0;
    for await (const { value } of snapshot.scan(notes)) {
      rows++;
      expect(value).toMatchObject({ copy: "x", runs: 1 });
    }
    expect(rows).toBe(40);
    // A session whose clock is behind counts as alive when a second heartbeat of it was seen.
    await expect.poll(async () => (await right.status()).sessions.size, { timeout: 60_000 }).toBe(2);
    // A clock that is ahead is found, because it also holds collection back.
    const problems = (await right.check()).map(({ invariant }) => invariant);
    expect(problems).toEqual(offMs > 0 ? ["expires"] : []);
  });

  test("collects nothing that is younger than the retention, and expires nothing early", async () => {
    const [right, wrong] = [await openOff(0), await openOff(offMs)];
    await right.transact((tx) => {
      tx.set(notes.text, "a", "old");
      tx.set(codes.code, "a", "1234");
    });
    const before = await timestampOf(right);
    await right.transact((tx) => tx.set(notes.text, "a", "new"));
    await right.drain();
    expect(await wrong.collect()).toMatchObject({ versionsDropped: 0, cellsExpired: 0 });
    await using past = await right.snapshot({ at: before });
    expect(await past.get(notes.text, "a")).toBe("old");
    expect(await right.transact((tx) => tx.get(codes.code, "a"))).toBe("1234");
  });
});
