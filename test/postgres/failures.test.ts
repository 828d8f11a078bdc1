import { type Database, open, systemEnvironment, table, text } from "percolatordb";
import { postgresStore } from "percolatordb/postgres";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { openAlone } from "../support/databases.js";
import {
  newPlace,
  type PostgresPlace,
  placeAt,
  removePlace,
  withSuperuser,
} from "../support/postgres/index.js";
import { calls, FaultyPool } from "./faulty-pool.js";

const documents = table("documents", { contents: text() });

let place: PostgresPlace;
let role: string;

beforeEach(async () => {
  place = await newPlace();
  role = `failing_${process.pid}_${place.schema.replace(/\D/g, "")}`;
  await sql(`create role ${role} login superuser`);
});

afterEach(async () => {
  await removePlace(place);
  await sql(`drop role ${role}`);
});

const sql = (query: string) => withSuperuser(place.host, (pool) => pool.query(query));
const location = () => placeAt(place.host, place.schema, role).location;
const put = (db: Database, row: string) => db.transact((tx) => tx.set(documents.contents, row, row));
const quoted = () => `"${place.schema.replaceAll('"', '""')}"`;

/** A `StoreError` that contains this text. */
const failure = (said: string, more: object = {}) =>
  expect.objectContaining({ code: "STORE", message: expect.stringContaining(said), ...more });

describe("a server that refuses", () => {
  test("writes, because it is read-only, says so; reads work", async () => {
    await (await openAlone(place.location, { tables: [documents] })).close();
    await sql(`alter role ${role} set default_transaction_read_only = on`);
    const store = await postgresStore({
      connection: { host: place.host, user: role, database: "postgres" },
      schema: place.schema,
      deadlineMs: 5_000,
    });
    const columns = [{ exact: Buffer.from("c") }];
    expect((await store.readRow({ table: "t", row: Buffer.from("r"), columns, at: 1 })).cells).toEqual([]);
    await expect(store.atomic!.next()).rejects.toEqual(failure("Connect to the primary"));
    await store.close();
  });

  test("writes, and then does not answer in time: the refusal is reported", async () => {
    await (await openAlone(place.location, { tables: [documents] })).close();
    const pool = new FaultyPool(place.host, role);
    const store = await postgresStore({ pool, schema: place.schema, deadlineMs: 5_000 });
    await store.atomic!.next();
    let commits = 0;
    pool.interfere = (query, send) => {
      if (!calls(query, "commit_group")) return send();
      if (++commits > 1) return new Promise(() => undefined);
      return Promise.reject(Object.assign(new Error("refused"), { code: "25006", severity: "ERROR" }));
    };
    await expect(store.atomic!.next()).rejects.toEqual(failure("Connect to the primary"));
    expect(commits).toBe(2);
    await store.close();
    await pool.end();
  });

  test("writes on a connection that a failover left at a standby: the store connects again", async () => {
    await (await openAlone(place.location, { tables: [documents] })).close();
    await sql(`alter role ${role} set default_transaction_read_only = on`);
    const pool = new FaultyPool(place.host, role);
    const store = await postgresStore({ pool, schema: place.schema });
    // The connection that the store has keeps the setting. New ones get the other.
    await sql(`alter role ${role} reset default_transaction_read_only`);
    expect(await store.atomic!.next()).toBeGreaterThan(0);
    await store.close();
    await pool.end();
  });

  test("another isolation than read committed, in which groups would miss commits, is refused", async () => {
    await (await openAlone(place.location, { tables: [documents] })).close();
    for (const isolation of ["repeatable read", "serializable"]) {
      await sql(`alter role ${role} set default_transaction_isolation = '${isolation}'`);
      const connection = { host: place.host, user: role, database: "postgres" };
      const store = await postgresStore({ connection, schema: place.schema });
      await expect(store.atomic!.next()).rejects.toEqual(
        failure(
          `isolation is ${isolation}, but must be read committed [25001]. Set \`default_transaction_isolation\``,
        ),
      );
      await store.close();
    }
  });

  test("connections beyond its limit names the limit; the store opens as soon as one is free", async () => {
    await (await openAlone(place.location, { tables: [documents] })).close();
    await sql(`alter role ${role} nosuperuser connection limit 1`);
    await sql(`grant usage on schema ${quoted()} to ${role}; grant select on ${quoted()}.state to ${role}`);
    const held = new FaultyPool(place.host, role);
    const client = await held.connect();
    const pool = new FaultyPool(place.host, role);
    // After the first refusal the deadline has passed, however fast this machine is.
    let passedMs = 0;
    const environment = { ...systemEnvironment, monotonic: () => systemEnvironment.monotonic() + passedMs };
    const connect = pool.connect.bind(pool);
    pool.connect = () =>
      connect().catch((error: unknown) => {
        passedMs = 60_000;
        throw error;
      });
    await expect(postgresStore({ pool, schema: place.schema, environment, create: false })).rejects.toEqual(
      failure("max_connections", { retryable: true }),
    );
    passedMs = 0;
    pool.connect = connect;
    const opening = postgresStore({ pool, schema: place.schema, environment, create: false });
    client.release(true);
    await (await opening).close();
    await Promise.all([held.end(), pool.end()]);
  });

  test("connections, while three processes write more than it has: every commit is there, once", async () => {
    await (await openAlone(place.location, { tables: [documents] })).close();
    await sql(`alter role ${role} nosuperuser connection limit 7`);
    await sql(`grant usage on schema ${quoted()} to ${role}`);
    await sql(`grant select, insert, update, delete on all tables in schema ${quoted()} to ${role}`);
    await sql(`grant usage, select, update on all sequences in schema ${quoted()} to ${role}`);
    // Each needs two connections, and wants ten under load.
    const databases = [];
    for (let i = 0; i < 3; i++) databases.push(await open(location(), { tables: [documents] }));
    const [writers, rounds] = [20, 10];
    const add = (db: Database, row: string) =>
      db.transact(async (tx) => {
        const before = Number((await tx.get(documents.contents, row)) ?? 0);
        tx.set(documents.contents, row, String(before + 1));
      });
    await Promise.all(
      databases.flatMap((db) =>
        Array.from({ length: writers }, async (_, i) => {
          for (let round = 0; round < rounds; round++) await add(db, `r${i}`);
        }),
      ),
    );
    await using snapshot = await databases[0]!.snapshot();
    for (let i = 0; i < writers; i++)
      expect(await snapshot.get(documents.contents, `r${i}`)).toBe(String(databases.length * rounds));
    for (const db of databases) await db.close();
  });

  test("a database or a schema that does not exist says what to create", async () => {
    const connection = { host: place.host, user: "postgres", database: "nowhere" };
    await expect(postgresStore({ connection })).rejects.toEqual(failure("Create the database"));
    await expect(openAlone(place.location, { create: false })).rejects.toEqual(failure("percolator init"));
    await expect(openAlone(place.location, { readOnly: true })).rejects.toEqual(failure("percolator init"));
  });

  test("a server that cannot be reached is named, without the password", async () => {
    const away = `postgres://someone:secret@127.0.0.1:1/nowhere?deadlineMs=50`;
    const error = await openAlone(away).catch((caught: unknown) => caught);
    expect(error).toEqual(failure("cannot be reached", { retryable: true }));
    expect((error as Error).message).toContain("postgres://someone@127.0.0.1:1/nowhere");
    expect((error as Error).message).not.toContain("secret");
  });

  test("a server before version 14 is refused", async () => {
    const pool = new FaultyPool(place.host);
    pool.interfere = async (query, send) =>
      query.text === "show server_version_num" ? { rows: [["130012"]] } : await send();
    await expect(postgresStore({ pool, schema: place.schema })).rejects.toEqual(failure("needs version 14"));
    await pool.end();
  });

  test("a newer version of the tables is refused, and an unknown one is not overwritten", async () => {
    await (await openAlone(place.location)).close();
    await sql(`update ${quoted()}.state set version = 99`);
    await expect(openAlone(place.location)).rejects.toMatchObject({
      code: "STORE_VERSION",
      message: expect.stringContaining("Upgrade the package"),
    });
  });

  test.each(["statement_timeout", "lock_timeout"])(
    "a statement that takes longer than %s fails the commit with nothing written",
    async (timeout) => {
      await using db = await openAlone(location(), { tables: [documents] });
      await put(db, "a");
      await sql(`alter role ${role} set ${timeout} = 300`);
      await using slow = await openAlone(location(), { tables: [documents] });
      await withSuperuser(place.host, async (pool) => {
        const client = await pool.connect();
        await client.query(`begin; select ${quoted()}.lock_commits()`);
        const store = await postgresStore({
          connection: { host: place.host, user: role, database: "postgres" },
          schema: place.schema,
        });
        const cell = { table: "t", row: Buffer.from("r") };
        const put = { type: "put", column: Buffer.from("c"), part: "write", timestamp: 1 } as const;
        const mutations = [{ ...put, value: Buffer.from("v") }];
        await expect(store.mutate({ ...cell, guards: [], mutations })).rejects.toEqual(
          failure(`\`${timeout}\``, { retryable: true }),
        );
        await client.query("rollback");
        client.release();
        const columns = [{ exact: put.column }];
        expect((await store.readRow({ ...cell, columns, at: 9 })).cells).toEqual([]);
        await store.close();
      });
      await put(slow, "b");
      expect(await db.transact((tx) => tx.getMany(documents.contents, ["a", "b"]))).toEqual(["a", "b"]);
    },
  );
});

test.each(["statement_timeout", "lock_timeout"])(
  "a flush that takes longer than %s is repeated: its commit is not of unknown outcome",
  async (timeout) => {
    await (await openAlone(location(), { tables: [documents] })).close();
    await sql(`alter role ${role} set ${timeout} = 100`);
    await using db = await openAlone(location(), { tables: [documents] });
    await withSuperuser(place.host, async (pool) => {
      const client = await pool.connect();
      // As another process's flush whose commit waits for the disk.
      await client.query(`begin; select from ${quoted()}.durable for update`);
      const { failures } = (await db.status()).statistics;
      const putting = put(db, "a");
      await expect.poll(async () => (await db.status()).statistics.failures).toBeGreaterThan(failures!);
      await client.query("rollback");
      client.release();
      await putting;
    });
    expect(await db.transact((tx) => tx.get(documents.contents, "a"))).toBe("a");
  },
);

describe("connections that end", () => {
  test("between and during requests cost nothing but time", async () => {
    await using db = await openAlone(location(), { tables: [documents] });
    let isOver = false;
    const killing = (async () => {
      while (!isOver) {
        await sql(`select pg_terminate_backend(pid) from pg_stat_activity where usename = '${role}'`);
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
    })();
    const rows = Array.from({ length: 150 }, (_, index) => `row ${index}`);
    const runs = new Map<string, number>();
    try {
      for (let from = 0; from < rows.length; from += 10) {
        await Promise.all(
          rows.slice(from, from + 10).map((row) =>
            db.transact(async (tx) => {
              runs.set(row, (runs.get(row) ?? 0) + 1);
              const before = (await tx.get(documents.contents, row)) ?? "";
              tx.set(documents.contents, row, `${before}x`);
            }),
          ),
        );
      }
    } finally {
      isOver = true;
      await killing;
    }
    const values = await db.transact((tx) => tx.getMany(documents.contents, rows));
    expect(values).toEqual(rows.map(() => "x"));
    expect((await db.status()).statistics.failures).toBeGreaterThan(0);
  });

  test("while a read is under way are replaced, and the read is repeated", async () => {
    const pool = new FaultyPool(place.host);
    const store = await postgresStore({ pool, schema: place.schema });
    let failed = 0;
    pool.interfere = async (query, send) => {
      if (!query.text.includes("counter") || failed++ >= 3) return await send();
      throw Object.assign(new Error("terminating connection"), { code: "57P01", severity: "FATAL" });
    };
    expect(await store.atomic!.counter()).toBeGreaterThanOrEqual(0);
    expect(failed).toBe(4);
    await store.close();
    await pool.end();
  });
});

test("two processes that make the same database at once both succeed", async () => {
  const databases = await Promise.all(
    Array.from({ length: 4 }, () => openAlone(place.location, { tables: [documents] })),
  );
  await put(databases[0]!, "a");
  expect(await databases[3]!.transact((tx) => tx.get(documents.contents, "a"))).toBe("a");
  for (const db of databases) await db.close();
});

test("without prepared statements, no session keeps anything between two statements", async () => {
  // As behind PgBouncer in transaction mode: each statement may run on another connection.
  const pool = new FaultyPool(place.host);
  let named = 0;
  let sent = 0;
  pool.interfere = async (query, send) => {
    if (query.name !== undefined) named++;
    if (calls(query, "commit_group")) sent++;
    return await send();
  };
  const store = await postgresStore({ pool, schema: place.schema, prepare: false });
  await using db = await openAlone(store, { tables: [documents] });
  await put(db, "a");
  expect([named, sent > 0]).toEqual([0, true]);
  // On each of the pool's connections.
  const text =
    "select name from pg_settings where source = 'session' and name in ('synchronous_commit', 'search_path')";
  const found = await Promise.all(Array.from({ length: 8 }, () => pool.send({ text })));
  expect(found).toEqual(found.map(() => expect.objectContaining({ rows: [] })));
});

test("a deadline may be longer than a timer of Node", async () => {
  const { host, schema } = place;
  const connection = { host, user: role, database: "postgres" };
  const store = await postgresStore({ connection, schema, deadlineMs: Number.MAX_SAFE_INTEGER });
  // Each connection that the pool gave up would count.
  expect(await store.statistics!()).toMatchObject({ failures: 0 });
  await store.close();
});

test("a two-phase transaction that is aborted while it takes a timestamp says so", async () => {
  const pool = new FaultyPool(place.host);
  const store = await postgresStore({ pool, schema: place.schema });
  const db = await open(store, { tables: [documents], commit: "two-phase", collectEveryMs: 0 });
  const controller = new AbortController();
  pool.interfere = (query, send) => {
    if (calls(query, "commit_group")) controller.abort();
    return send();
  };
  await expect(db.begin({ signal: controller.signal })).rejects.toMatchObject({ code: "ABORTED" });
  await db.close();
  await pool.end();
});
