import { float, int, observer, open, table, text, tuple } from "percolatordb";
import { attach, attachTables, postgresStore, postgresViews } from "percolatordb/postgres";
import { storeConformance } from "percolatordb/testing";
import { Pool } from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type PostgresServer, startPostgres } from "../../examples/support/postgres-server.js";
import { copyEmbeddedPostgres, type EmbeddedPostgres } from "../support/postgres/embedded.js";
import { placeAt } from "../support/postgres/index.js";
import { ProgramProcess } from "../support/program-process.js";
import { rowsOf, Shop, sums } from "./attach/shop.js";
import { count, counted } from "./counted.js";

const documents = table("documents", { contents: text(), length: int() });
const measure = observer("measure", documents.contents, (tx, { row, value }) =>
  tx.set(documents.length, row, value?.length ?? 0),
);

const settings = ["fsync=off", "shared_buffers=64MB"];

/** The server that is installed, and the newest one. */
const versions = ["the installed version", "version 18"] as const;

describe.each(versions)("%s of PostgreSQL", (version) => {
  let embedded: EmbeddedPostgres | undefined;
  let server: PostgresServer;
  let schemas = 0;

  beforeAll(async () => {
    embedded = version === "version 18" ? await copyEmbeddedPostgres() : undefined;
    server = await startPostgres({ settings, programs: embedded?.programs });
  });

  afterAll(async () => {
    await server?.stop();
    await embedded?.[Symbol.asyncDispose]();
  });

  const serverVersion = async () => {
    const pool = new Pool({ host: server.host, user: "postgres", database: "postgres", max: 1 });
    const { rows } = await pool.query<{ major: number }>(
      "select current_setting('server_version_num')::int / 10000 as major",
    );
    await pool.end();
    return rows[0]!.major;
  };
  const newPlaceHere = () => placeAt(server.host, `versions ${++schemas}`);

  it("is the one that is tested", async () => {
    const pool = new Pool({ host: server.host, user: "postgres", database: "postgres" });
    const { rows } = await pool.query<{ server_version: string }>("show server_version");
    await pool.end();
    if (version === "version 18") expect(rows[0]!.server_version).toMatch(/^18\./);
    else expect(rows[0]!.server_version).not.toMatch(/^18\./);
  });

  storeConformance(
    "the store",
    async () => {
      const { schema } = newPlaceHere();
      return await postgresStore({
        connection: { host: server.host, user: "postgres", database: "postgres" },
        schema,
      });
    },
    { describe, it, atomicBatches: true, seeds: [7] },
  );

  it("runs observers, collects, and checks clean", async () => {
    await using db = await open(newPlaceHere().location, {
      tables: [documents],
      observers: [measure],
      retentionMs: 1,
    });
    const rows = Array.from({ length: 50 }, (_, index) => `row ${index}`);
    for (const value of ["one", "three"]) {
      await Promise.all(rows.map((row) => db.transact((tx) => tx.set(documents.contents, row, value))));
      await db.drain();
    }
    await db.collect();
    expect(await db.transact((tx) => tx.getMany(documents.length, rows))).toEqual(rows.map(() => 5));
    expect(await db.check()).toEqual([]);
  });

  it("follows attached tables, and notices a changed one", async () => {
    const shop = await Shop.at(newPlaceHere());
    const { orders, add } = shop.declare();
    try {
      await using db = await open(shop.place.location, { tables: [orders, sums], observers: [add] });
      await shop.sql("insert into T.orders select i, 'c' || i, i from generate_series(1, 500) i");
      await attachTables(db, [orders]);
      await shop.expectEqual(db, orders);
      for (const change of [
        "update T.orders set total = total + 1 where id % 2 = 0",
        "insert into T.orders values (1, 'again', 9) on conflict (id) do update set total = excluded.total",
        "update T.orders set id = id + 1000 where id <= 10",
        "merge into T.orders o using (values (20, 7.0), (2000, 8.0)) v(id, total) on o.id = v.id " +
          "when matched then update set total = v.total when not matched then insert values (v.id, 'm', v.total)",
        "begin; delete from T.orders where id = 30; savepoint s; delete from T.orders; rollback to s; commit",
        "delete from T.orders where id between 100 and 200",
        "alter table T.orders add note text default 'x'",
        "truncate T.orders; insert into T.orders (id, customer, total) values (1, 'new', 1)",
      ]) {
        if (!change.startsWith("merge") || (await serverVersion()) >= 15) await shop.sql(change);
        await shop.expectEqual(db, orders);
      }
      await shop.sql("alter table T.orders drop total");
      await expect(db.drain()).rejects.toThrow(/no column "total"/);
    } finally {
      await shop[Symbol.asyncDispose]();
    }
  });

  const itOn18 = version === "version 18" ? it : () => undefined;
  itOn18(
    "reads a generated column again when its expression changes, and refuses one without stored values",
    async () => {
      const shop = new Shop(newPlaceHere(), "generated", true);
      const lines = (column: string) =>
        attach("generated.lines", { key: tuple(int()), columns: { [column]: float() } });
      try {
        await shop.sql(`create schema T; create table T.lines (id int primary key, price float8, tax float8,
        gross float8 generated always as (price + tax) stored, twice float8 generated always as (price * 2));
        insert into T.lines (id, price, tax) values (1, 10, 2), (2, 20, 3)`);
        await using db = await open(shop.place.location, { tables: [lines("gross")] });
        await expect(attachTables(db, [lines("twice")])).rejects.toThrow(
          /column twice: it is a virtual generated column/,
        );
        await attachTables(db, [lines("gross")]);
        const gross = async () => {
          await db.drain();
          return (await rowsOf(db, lines("gross"))).map(
            (row) => (row as [number, { gross: number }])[1].gross,
          );
        };
        expect(await gross()).toEqual([12, 23]);
        await shop.sql("update T.lines set tax = 4 where id = 1");
        await shop.sql("alter table T.lines alter gross set expression as (price - tax)");
        expect(await gross()).toEqual([6, 17]);
        await shop.sql("update T.lines set price = 30 where id = 2");
        expect(await gross()).toEqual([6, 27]);
        await shop.sql("alter table T.lines alter twice set expression as (price * 3)");
        expect(await gross()).toEqual([6, 27]);
      } finally {
        await shop[Symbol.asyncDispose]();
      }
    },
  );

  it("makes views that look for a key with the index", async () => {
    const place = newPlaceHere();
    const pool = new Pool({ host: server.host, user: "postgres", database: "postgres", max: 1 });
    await using db = await open(place.location, { tables: [documents], observers: [measure] });
    for (let from = 0; from < 20_000; from += 5_000) {
      await db.transact((tx) => {
        for (let i = from; i < from + 5_000; i++) tx.set(documents.contents, `d${i}`, "x".repeat(i % 50));
      });
    }
    await db.drain();
    await postgresViews(db, [documents], { schema: "derived" });
    await pool.query(`analyze "${place.schema}".cells`);
    const look = "select length from derived.documents where key = 'd77'";
    expect((await pool.query(look)).rows).toEqual([{ length: "27" }]);
    const { rows } = await pool.query(`explain (format json) ${look}`);
    const plan = JSON.stringify(rows[0]["QUERY PLAN"]);
    expect(plan).toMatch(/"Index Name"/);
    expect(plan).not.toMatch(/"Seq Scan","Parallel Aware":(true|false)[^}]*"Relation Name":"cells"/);
    await pool.query("drop schema derived cascade");
    await pool.end();
  });

  it("keeps what workers in other processes do through a crash of the server", async () => {
    const { location } = placeAt(server.host, `versions ${++schemas}`);
    // The server needs a while to recover. A deadline that is never reached keeps time out of the test.
    const patient = `${location}&deadlineMs=60000`;
    await using db = await open(patient, { tables: [counted], observers: [count], collectEveryMs: 0 });
    const child = new ProgramProcess("test/postgres/worker-child.ts", [patient]);
    try {
      await child.said((line) => line === "ready");
      const rows = Array.from({ length: 100 }, (_, index) => `row ${index}`);
      for (const value of [1, 2, 3]) {
        await Promise.all(rows.map((row) => db.transact((tx) => tx.set(counted.value, row, value))));
        if (value === 2) await server.crash();
      }
      await expect
        .poll(async () => {
          const seen = await db.transact((tx) => tx.getMany(counted.seen, rows));
          return seen.filter((each) => each === 3).length;
        })
        .toBe(rows.length);
      await db.drain();
      expect(await db.check()).toEqual([]);
    } finally {
      await child.kill();
    }
  });
});
