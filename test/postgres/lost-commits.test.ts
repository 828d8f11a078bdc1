import { table, text } from "percolatordb";
import { postgresStore } from "percolatordb/postgres";
import { Client } from "pg";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type PostgresServer, startPostgres } from "../../examples/support/postgres-server.js";
import { openAlone } from "../support/databases.js";
import { calls, FaultyPool } from "./faulty-pool.js";

const documents = table("documents", { contents: text() });

let server: PostgresServer;

beforeEach(async () => {
  // The server writes nothing to its disk that nobody has asked for.
  server = await startPostgres({ settings: ["wal_writer_delay=10s", "autovacuum=off"] });
});

afterEach(() => server.stop());

test("what a crash undoes was read by no transaction", async () => {
  const [writing, reading] = [new FaultyPool(server.host), new FaultyPool(server.host)];
  const options = { tables: [documents], collectEveryMs: 0 };
  const writer = await openAlone(await postgresStore({ pool: writing, schema: "s" }), options);
  const store = await postgresStore({ pool: reading, schema: "s", deadlineMs: 60_000 });
  const reader = await openAlone(store, options);
  await writer.transact((tx) => tx.set(documents.contents, "before", "x"));
  await reader.transact((tx) => tx.get(documents.contents, "before"));

  // A commit that is written, but not flushed.
  let flushes = 0;
  let release = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  writing.interfere = async (query, send) => {
    if (calls(query, "flush")) {
      flushes++;
      await released;
    }
    return await send();
  };
  const lost = writer.transact((tx) => tx.set(documents.contents, "lost", "x"), { retries: 0 });
  lost.catch(() => undefined);
  await expect.poll(() => flushes).toBeGreaterThan(0);

  const derived = await reader.begin();
  const seen = await derived.get(documents.contents, "lost");
  const counter = await store.atomic!.counter();
  derived.set(documents.contents, "derived", `from ${seen}`);
  await server.crash();
  await derived.commit();

  await using after = await openAlone(await postgresStore({ pool: reading, schema: "s" }), options);
  await using snapshot = await after.snapshot();
  expect(seen).toBeUndefined();
  expect(await snapshot.get(documents.contents, "derived")).toBe("from undefined");
  expect(snapshot.timestamp).toBeGreaterThanOrEqual(counter);
  expect(await after.check()).toEqual([]);
  release();
  await lost.catch(() => undefined);
  await Promise.all([writer.close(), reader.close()]);
  await Promise.all([writing.end(), reading.end()]);
});

test("with `durability: none` a crash loses the last commits, in their order and whole", async () => {
  const options = { tables: [documents], collectEveryMs: 0 };
  const place = () =>
    postgresStore({
      connection: { host: server.host, user: "postgres", database: "postgres" },
      schema: "n",
      durability: "none",
      deadlineMs: 60_000,
    });
  const writer = await openAlone(await place(), options);
  const name = (number: number) => String(number).padStart(5, "0");
  const committed = 300;
  for (let number = 0; number < committed; number++) {
    await writer.transact((tx) => {
      tx.set(documents.contents, `a${name(number)}`, "x");
      tx.set(documents.contents, `b${name(number)}`, "x");
    });
    // Something to keep, for a server that has flushed nothing by itself.
    if (number === 100) {
      await server.restart();
      await stopWalWriter();
    }
  }
  await server.crash();
  await using after = await openAlone(await place(), options);
  const kept = async (prefix: string) => {
    await using snapshot = await after.snapshot();
    const rows: string[] = [];
    for await (const { row } of snapshot.scan(documents.contents, { prefix })) rows.push(row.slice(1));
    return rows;
  };
  const found = await kept("a");
  expect(found).toEqual(Array.from({ length: found.length }, (_, number) => name(number)));
  expect(found.length).toBeGreaterThan(100);
  // Nothing has flushed them. If none is lost, this test shows nothing.
  expect(found.length).toBeLessThan(committed);
  expect(await kept("b")).toEqual(found);
  await after.transact((tx) => tx.set(documents.contents, "c", "x"));
  expect(await after.check()).toEqual([]);
  await writer.close();
});

/** Stops the process that flushes every `wal_writer_delay`. The next crash ends it. */
async function stopWalWriter(): Promise<void> {
  const client = new Client({ host: server.host, user: "postgres", database: "postgres" });
  await client.connect();
  const text = "select pid from pg_stat_activity where backend_type = 'walwriter'";
  const { rows } = await client.query<{ pid: number }>(text);
  process.kill(rows[0]!.pid, "SIGSTOP");
  await client.end();
}

test("a lock that others can see survives a crash", async () => {
  const [writing, reading] = [new FaultyPool(server.host), new FaultyPool(server.host)];
  const writer = await postgresStore({ pool: writing, schema: "s" });
  const reader = await postgresStore({ pool: reading, schema: "s", deadlineMs: 60_000 });
  const row = Buffer.from("r");
  const columns = [{ exact: Buffer.from("c") }];
  const put = (part: "lock" | "write", timestamp: number) =>
    writer.mutate({
      table: "t",
      row,
      guards: [],
      mutations: [{ type: "put", column: Buffer.from("c"), part, timestamp, value: Buffer.from("x") }],
    });
  await put("write", 1);
  // Nobody ever flushes it.
  let isOver = false;
  writing.interfere = async (query, send) => {
    while (calls(query, "flush") && !isOver) await new Promise((resolve) => setTimeout(resolve, 10));
    return await send();
  };
  const locked = put("lock", 2);
  const read = async () => (await reader.readRow({ table: "t", row, columns, at: 9 })).cells[0]?.lock;
  await expect.poll(read).toMatchObject({ timestamp: 2 });
  await server.crash();
  expect(await read()).toMatchObject({ timestamp: 2 });
  isOver = true;
  expect(await locked).toBe("applied");
  await Promise.all([writer.close(), reader.close()]);
  await Promise.all([writing.end(), reading.end()]);
});

test("the number of a table survives a crash, though the role does not wait for the disk", async () => {
  const [early, late] = [new FaultyPool(server.host), new FaultyPool(server.host)];
  const first = await postgresStore({ pool: early, schema: "s" });
  await late.send({ text: "alter role postgres set synchronous_commit = off" });
  // Its connections have the setting.
  const impatient = new FaultyPool(server.host);
  const store = await postgresStore({ pool: impatient, schema: "s", deadlineMs: 60_000 });
  await store.prepare(["one"]);
  await server.crash();
  // Another process uses another table first, then this one goes on with the number that it knows.
  const other = await postgresStore({ pool: late, schema: "s", deadlineMs: 60_000 });
  await other.prepare(["two"]);
  const [row, column] = [Buffer.from("r"), Buffer.from("c")];
  const put = { type: "put", column, part: "data", timestamp: 1, value: Buffer.from("x") } as const;
  await store.mutate({ table: "one", row, guards: [], mutations: [put] });
  const read = async (table: string) => {
    const columns = [{ exact: column }];
    return (await other.readRaw({ table, columns, parts: ["data"] })).rows.length;
  };
  expect([await read("one"), await read("two")]).toEqual([1, 0]);
  await Promise.all([first.close(), store.close(), other.close()]);
  await Promise.all([early.end(), late.end(), impatient.end()]);
});
