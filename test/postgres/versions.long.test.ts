import { int, observer, open, table, text } from "percolatordb";
import { postgresStore } from "percolatordb/postgres";
import { storeConformance } from "percolatordb/testing";
import { Pool } from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type PostgresServer, startPostgres } from "../../examples/support/postgres-server.js";
import { copyEmbeddedPostgres, type EmbeddedPostgres } from "../support/postgres/embedded.js";
import { placeAt } from "../support/postgres/index.js";
import { ProgramProcess } from "../support/program-process.js";
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
