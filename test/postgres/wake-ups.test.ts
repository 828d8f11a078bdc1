import { postgresStore } from "percolatordb/postgres";
import type { CommitWatch, RowStore } from "percolatordb/store";
import { Client } from "pg";
import { afterEach, beforeEach, expect, test } from "vitest";
import { newPlace, type PostgresPlace, removePlace, withSuperuser } from "../support/postgres/index.js";
import { calls, FaultyPool } from "./faulty-pool.js";

let place: PostgresPlace;
/** The store that watches, and another one, as in another process. */
let watching: RowStore;
let other: RowStore;
let heard: number;
let watch: CommitWatch;

beforeEach(async () => {
  place = await newPlace();
  heard = 0;
  [watching, other] = [await openStore(), await openStore()];
  watch = watching.atomic!.watch!(() => heard++);
  await expect.poll(() => watch.isLive).toBe(true);
});

afterEach(async () => {
  await watching.close();
  await other.close();
  await removePlace(place);
});

function openStore(): Promise<RowStore> {
  const { host, schema } = place;
  return postgresStore({ connection: { host, user: "postgres", database: "postgres" }, schema });
}

function put(store: RowStore, value: number) {
  const row = Buffer.from("row");
  const column = Buffer.from("column");
  return store.atomic!.commit({
    rows: [
      {
        table: "t",
        row,
        guards: [],
        mutations: [{ type: "put", column, part: "data", timestamp: 1, value: Buffer.from([value]) }],
      },
    ],
  });
}

test("a commit of another process is heard, and the counter then shows it", async () => {
  const before = await watching.atomic!.counter();
  await put(other, 1);
  await expect.poll(() => heard).toBe(1);
  expect(await watching.atomic!.counter()).toBeGreaterThan(before);
});

test("the last of many commits is heard too, and a process does not hear its own", async () => {
  for (let value = 0; value < 50; value++) await put(watching, value);
  expect(heard).toBe(0);
  const seen: number[] = [];
  const reading: Promise<unknown>[] = [];
  const again = watching.atomic!.watch!(() => {
    reading.push(Promise.resolve(watching.atomic!.counter()).then((counter) => seen.push(counter)));
  });
  for (let value = 0; value < 50; value++) await put(other, value);
  const last = await watching.atomic!.counter();
  await expect.poll(() => Math.max(0, ...seen)).toBe(last);
  await Promise.all(reading);
  again.close();
});

test("there are less than 100 wake-ups a second, however many commits and processes there are", async () => {
  const { host, schema } = place;
  const client = new Client({ host, user: "postgres", database: "postgres" });
  await client.connect();
  const third = await openStore();
  try {
    const name = `"${schema.replaceAll('"', '""')}"`;
    const { rows } = await client.query(`select ${name}.wake_channel() as channel`);
    let notifications = 0;
    client.on("notification", () => notifications++);
    await client.query(`listen "${rows[0].channel}"`);
    const time = async () =>
      Number((await client.query("select extract(epoch from clock_timestamp()) * 1000 as ms")).rows[0].ms);
    const began = await time();
    let commits = 0;
    for (let round = 0; round < 60; round++) {
      await Promise.all([other, third, watching].map((store) => put(store, round)));
      commits += 3;
    }
    const ended = await time();
    // The server spaces them by at least 15 ms.
    expect(notifications).toBeGreaterThan(0);
    expect(notifications).toBeLessThanOrEqual(2 + (ended - began) / 15);
    expect(notifications).toBeLessThan(commits);
  } finally {
    await third.close();
    await client.end();
  }
});

test("a process whose wake-up was refused asks again, whoever has sent one meanwhile", async () => {
  const { host, schema } = place;
  const client = new Client({ host, user: "postgres", database: "postgres" });
  await client.connect();
  const pool = new FaultyPool(host);
  const third = await postgresStore({ pool, schema });
  const name = `"${schema.replaceAll('"', '""')}"`;
  const woken = async () =>
    Number((await client.query(`select last_value from ${name}.woken`)).rows[0].last_value);
  let asked = 0;
  let before = 0;
  pool.interfere = async (query, send) => {
    if (!calls(query, "wake_others")) return await send();
    if (++asked > 1) {
      // The watching process wakes the others first. It ignores its own wake-up.
      if (asked === 2) await put(watching, 2);
      await expect.poll(woken, { interval: 1 }).toBeGreaterThan(before);
      return await send();
    }
    // Another process has woken all a moment ago.
    await client.query(
      `select setval('${name}.woken', (extract(epoch from clock_timestamp()) * 1000000)::int8)`,
    );
    before = await woken();
    return await send();
  };
  try {
    await put(third, 1);
    await expect.poll(() => heard).toBe(1);
  } finally {
    await third.close();
    await pool.end();
    await client.end();
  }
});

test("a process that asks while another one sends a wake-up asks again", async () => {
  const { host, schema } = place;
  const client = new Client({ host, user: "postgres", database: "postgres" });
  await client.connect();
  const pool = new FaultyPool(host);
  const third = await postgresStore({ pool, schema });
  pool.interfere = async (query, send) => {
    if (!calls(query, "wake_others")) return await send();
    pool.interfere = (_, pass) => pass();
    await client.query("begin");
    await client.query(
      "select pg_advisory_xact_lock(1885565541, ($1::regclass::oid::int8 - 2147483648)::int4)",
      [`"${schema.replaceAll('"', '""')}".woken`],
    );
    const answer = await send();
    await client.query("commit");
    return answer;
  };
  try {
    await put(third, 1);
    await expect.poll(() => heard).toBe(1);
  } finally {
    await third.close();
    await pool.end();
    await client.end();
  }
});

/** Selects from the server's connections that listen for wake-ups of this place. */
const fromListeners = (what: string) =>
  withSuperuser(place.host, (pool) =>
    pool.query(
      `select ${what} from pg_stat_activity
       where query = format('listen "%s"', "${place.schema.replaceAll('"', '""')}".wake_channel())`,
    ),
  );

test("a connection that ends is replaced, and the watch says that it hears nothing meanwhile", async () => {
  await fromListeners("pg_terminate_backend(pid)");
  await expect.poll(() => watch.isLive, { interval: 1 }).toBe(false);
  await expect.poll(() => watch.isLive).toBe(true);
  await put(other, 1);
  await expect.poll(() => heard).toBeGreaterThan(0);
});

test("a watch over connections that carry no notifications is not live", async () => {
  const pool = new FaultyPool(place.host);
  const deaf = await postgresStore({ pool, schema: place.schema });
  let isTested = false;
  pool.interfere = (query, send) => {
    // As behind a PgBouncer in transaction mode: the server listens on a connection that others then get.
    if (query.text.startsWith("listen ")) return Promise.resolve({ rows: [] });
    isTested ||= query.text.includes("pg_notify");
    return send();
  };
  const silent = deaf.atomic!.watch!(() => heard++);
  try {
    await expect.poll(() => isTested).toBe(true);
    await put(other, 1);
    await expect.poll(() => heard).toBe(1);
    expect(silent.isLive).toBe(false);
  } finally {
    silent.close();
    await deaf.close();
    await pool.end();
  }
});

test("a closed watch hears nothing, and gives its connection back", async () => {
  watch.close();
  expect(watch.isLive).toBe(false);
  await put(other, 1);
  const later = other.atomic!.watch!(() => undefined);
  await expect.poll(() => later.isLive).toBe(true);
  later.close();
  expect(heard).toBe(0);
  await expect.poll(async () => (await fromListeners("pid")).rowCount).toBe(0);
});
