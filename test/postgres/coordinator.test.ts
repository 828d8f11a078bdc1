import { int, observer, open, table, text } from "percolatordb";
import { afterEach, beforeEach, expect, test } from "vitest";
import { newPlace, type PostgresPlace, removePlace, withSuperuser } from "../support/postgres/index.js";

const documents = table("documents", { contents: text(), length: int() });
const measure = observer("measure", documents.contents, (tx, { row, value }) =>
  tx.set(documents.length, row, value?.length ?? 0),
);
const options = { tables: [documents], observers: [measure] };

let place: PostgresPlace;

beforeEach(async () => {
  place = await newPlace();
});

afterEach(() => removePlace(place));

test("a coordinator keeps sessions and claims, and the server gives the timestamps", async () => {
  await using leading = await open(place.location, { ...options, coordinator: "auto" });
  const { coordinator } = await leading.status();
  const address = coordinator!.leader!;
  expect(coordinator).toMatchObject({ answers: true });
  await using following = await open(place.location, { ...options, coordinator: address });
  await using alone = await open(place.location, options);
  expect((await alone.status()).coordinator).toMatchObject({ leader: address, answers: undefined });

  await using _first = leading.work();
  await using _second = following.work();
  // Both workers report to the coordinator.
  await expect.poll(async () => (await following.status()).coordinator?.sessions?.size).toBe(2);

  const rows = Array.from({ length: 40 }, (_, index) => `row ${index}`);
  for (const db of [leading, following, alone]) {
    await Promise.all(rows.map((row) => db.transact((tx) => tx.set(documents.contents, row, "four"))));
  }
  await leading.drain();
  expect(await alone.transact((tx) => tx.getMany(documents.length, rows))).toEqual(rows.map(() => 4));
  expect(await alone.check()).toEqual([]);

  // Timestamps are the server's: the newest is the counter of the schema.
  const { latestTimestamp } = await alone.status();
  const { counter, ahead } = await withSuperuser(place.host, async (pool) => {
    const schema = `"${place.schema.replaceAll('"', '""')}"`;
    const { rows: found } = await pool.query<{ counter: string; ahead: boolean }>(
      `select counter, counter > extract(epoch from clock_timestamp()) * 1000000 as ahead from ${schema}.state`,
    );
    return found[0]!;
  });
  expect(Number(counter)).toBeGreaterThanOrEqual(latestTimestamp);
  expect(ahead).toBe(false);
});

test("without its coordinator, the database opens and works on", async () => {
  const leading = await open(place.location, { ...options, coordinator: "auto" });
  const address = (await leading.status()).coordinator!.leader!;
  await using db = await open(place.location, { ...options, coordinator: address });
  await leading.close();
  await using late = await open(place.location, { ...options, coordinator: address });
  await using _worker = late.work();
  await db.transact((tx) => tx.set(documents.contents, "a", "three"));
  await expect.poll(() => db.transact((tx) => tx.get(documents.length, "a"))).toBe(5);
});
