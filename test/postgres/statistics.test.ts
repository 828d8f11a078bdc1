import { readFile } from "node:fs/promises";
import { int, table } from "percolatordb";
import { type PostgresQuery, postgresStore } from "percolatordb/postgres";
import { afterEach, beforeEach, expect, test } from "vitest";
import { openAlone } from "../support/databases.js";
import { newPlace, type PostgresPlace, removePlace } from "../support/postgres/index.js";
import { calls, connectionLost, FaultyPool } from "./faulty-pool.js";

const counters = table("counters", { value: int() });

let place: PostgresPlace;
let pool: FaultyPool;

beforeEach(async () => {
  place = await newPlace();
  pool = new FaultyPool(place.host);
});

afterEach(async () => {
  await pool.end();
  await removePlace(place);
});

const openDatabase = async () =>
  await openAlone(await postgresStore({ pool, schema: place.schema }), { tables: [counters] });

/** Applies to the first call of a function. */
function atFirst(name: string, then: (send: () => Promise<unknown>) => Promise<unknown>) {
  let isDone = false;
  return async (query: PostgresQuery, send: () => Promise<unknown>) => {
    if (isDone || !calls(query, name)) return await send();
    isDone = true;
    return await then(send);
  };
}

test("the statistics count groups, flushes, and outcomes that had to be asked for", async () => {
  await using db = await openDatabase();
  const before = (await db.status()).statistics;
  expect(before).toMatchObject({ outcomesAsked: 0, connectionsWaiting: 0 });
  await Promise.all(
    Array.from({ length: 20 }, (_, row) => db.transact((tx) => tx.set(counters.value, `${row}`, row))),
  );
  const after = (await db.status()).statistics;
  const grown = (name: string) => after[name]! - before[name]!;
  expect(grown("requests")).toBe(20);
  expect(grown("groups")).toBeGreaterThan(0);
  expect(grown("groups")).toBeLessThan(20);
  expect(grown("flushes")).toBeGreaterThan(0);
  expect(grown("flushes")).toBeLessThanOrEqual(grown("groups"));

  pool.interfere = atFirst("commit_group", async (send) => {
    await send();
    throw connectionLost();
  });
  await db.transact((tx) => tx.set(counters.value, "0", 1));
  const { outcomesAsked, failures, connectionsMade } = (await db.status()).statistics;
  expect(outcomesAsked).toBe(1);
  expect(failures).toBe(after.failures! + 1);
  // The pool closed the connection, and made another one if it needed it.
  expect(connectionsMade).toBeGreaterThanOrEqual(after.connectionsMade!);
});

test("the statistics say how long the server takes, and who waits for a connection", async () => {
  await using db = await openDatabase();
  const before = (await db.status()).statistics;
  const slowMs = 300;
  const slow = async (send: () => Promise<unknown>) => {
    await new Promise((resolve) => setTimeout(resolve, slowMs));
    return await send();
  };
  for (const name of ["commit_group", "flush"]) {
    pool.interfere = atFirst(name, slow);
    await db.transact((tx) => tx.set(counters.value, "0", 1));
  }
  const after = (await db.status()).statistics;
  // A timer may be a millisecond early.
  expect(after.commitMs! - before.commitMs!).toBeGreaterThanOrEqual(slowMs - 2);
  expect(after.flushMs! - before.flushMs!).toBeGreaterThanOrEqual(slowMs - 2);
});

test("the statistics show statements that wait for a connection", async () => {
  await using db = await openDatabase();
  const before = (await db.status()).statistics;
  const [one, ...others] = await Promise.all(Array.from({ length: 8 }, () => pool.connect()));
  const looks = Array.from({ length: 3 }, () => db.openedStore.statistics());
  await new Promise((resolve) => setTimeout(resolve, 100));
  // The first look is answered while the third one waits.
  one!.release();
  expect((await looks[0]!).connectionsWaiting).toBeGreaterThan(0);
  for (const client of others) client.release();
  await Promise.all(looks);
  const after = (await db.status()).statistics;
  expect(after.connectionsWaiting).toBe(0);
  expect(after.connectionWaitMs! - before.connectionWaitMs!).toBeGreaterThanOrEqual(98);
});

test("a lost connection shows as a further one that the pool made", async () => {
  await using db = await openDatabase();
  const { connectionsMade: before } = (await db.status()).statistics;
  const all = await Promise.all(Array.from({ length: 8 }, () => pool.connect()));
  for (const client of all) client.release(true);
  await db.transact((tx) => tx.get(counters.value, "0"));
  expect((await db.status()).statistics.connectionsMade).toBeGreaterThan(before!);
});

test("docs/observability.md says what each statistic is", async () => {
  await using db = await openDatabase();
  const page = await readFile("docs/observability.md", "utf8");
  const section = page.split("### Statistics of PostgreSQL\n")[1]!.split("\n##")[0]!;
  const documented = [...section.matchAll(/^\| (`.*?`) \|/gm)].flatMap(([, names]) =>
    [...names!.matchAll(/`(\w+)`/g)].map(([, name]) => name),
  );
  expect(documented.sort()).toEqual(Object.keys((await db.status()).statistics).sort());
});
