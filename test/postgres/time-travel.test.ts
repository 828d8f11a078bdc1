import { ConflictError, type Database, int, StaleSnapshotError, table } from "percolatordb";
import { afterEach, beforeEach, expect, test } from "vitest";
import { openAlone } from "../support/databases.js";
import { newPlace, type PostgresPlace, removePlace } from "../support/postgres/index.js";

const numbers = table("numbers", { value: int() });

let place: PostgresPlace;
/** Two databases on one schema, as in two processes. */
let one: Database;
let other: Database;

beforeEach(async () => {
  place = await newPlace();
  const options = { tables: [numbers], collectEveryMs: 0 };
  [one, other] = [await openAlone(place.location, options), await openAlone(place.location, options)];
});

afterEach(async () => {
  await Promise.all([one.close(), other.close()]);
  await removePlace(place);
});

const put = (db: Database, row: string, value: number) =>
  db.transact((tx) => tx.set(numbers.value, row, value));

test("the past that one process sees is that of another, and is refused in both after either has collected it", async () => {
  await put(other, "a", 1);
  const old = await one.snapshot();
  await put(other, "a", 2);
  {
    await using same = await other.snapshot({ at: old.timestamp });
    expect([await old.get(numbers.value, "a"), await same.get(numbers.value, "a")]).toEqual([1, 1]);
  }
  await put(one, "b", 1);
  const { versionsDropped } = await other.collect({ retentionMs: 0 });
  expect(versionsDropped).toBeGreaterThan(0);
  // A snapshot younger than a quarter of the retention is not announced to other processes.
  await expect(old.get(numbers.value, "a")).rejects.toBeInstanceOf(StaleSnapshotError);
  await old.close();
  for (const db of [one, other]) {
    await expect(db.snapshot({ at: old.timestamp })).rejects.toBeInstanceOf(StaleSnapshotError);
    expect(await db.transact((tx) => tx.get(numbers.value, "a"))).toBe(2);
  }
});

test("a row that another process adds to a scanned range is a conflict if serializable, and outside of it is none", async () => {
  await put(other, "m1", 1);
  for (const [row, isolation, conflicts] of [
    ["m2", "serializable", true],
    ["n1", "serializable", false],
    ["m3", "snapshot", false],
  ] as const) {
    const tx = await one.begin({ isolation });
    let sum = 0;
    for await (const { value } of tx.scan(numbers.value, { prefix: "m" })) sum += value;
    tx.set(numbers.value, "sum", sum);
    await put(other, row, 1);
    const commit = tx.commit();
    if (conflicts) await expect(commit).rejects.toBeInstanceOf(ConflictError);
    else await commit;
  }
});
