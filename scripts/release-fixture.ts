/**
 * Writes the fixture of this version, `npm run release-fixture`: a database in a folder and its export, one on
 * PostgreSQL, and one on Bigtable, as this version writes them, and what is in them. `test/releases` opens the fixtures of all versions.
 * Make it again as often as you like before a release, and never after it.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import type { Database, RowStore } from "percolatordb";
import { openBigtableStore } from "percolatordb/bigtable";
import { openLmdbStore } from "percolatordb/lmdb";
import { postgresStore } from "percolatordb/postgres";
import { startPostgres } from "../examples/support/postgres-server.js";
import { contentOf } from "../test/releases/content.js";
import { accounts, openProgram, pages, visits } from "../test/releases/program.js";
import { RawInstance } from "../test/support/bigtable/raw-tables.js";
import { startEmulator } from "../test/support/emulator/index.js";

const root = fileURLToPath(new URL("../", import.meta.url));
const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
  readonly version: string;
};

/** How many changes of the feed the fixture has. */
const changes = 6;

/**
 * A transfer between two accounts ends in the middle of its two-phase commit, because its process dies at that
 * mutation of their table. Bigtable has the prewrites of both rows before.
 */
const deaths = { "before its commit point": 1, "after its commit point": 2 } as const;
const prewritesOnBigtable = 2;

/** The schema of the database on PostgreSQL, and the prefix on Bigtable. */
const schema = "release";

const target = join(root, "test/fixtures/releases", version);

async function write(location: string): Promise<number> {
  await using db = await openFailing(location);
  const since = (await db.status()).latestTimestamp;
  await db.transact(
    async (tx) => {
      tx.set(pages.body, "a", "First body");
      tx.set(pages.size, "a", 10);
      tx.set(pages.isDraft, "a", true);
      tx.set(pages.written, "a", new Date("2026-01-02T03:04:05.678Z"));
      tx.set(pages.views, "a", 2n ** 70n);
      tx.set(pages.state, "a", "new");
      tx.set(pages.digest, "a", Uint8Array.of(0, 1, 254, 255));
      tx.set(pages.long, "a", "long ".repeat(200));
      tx.set(pages.meta, "a", { author: "Ann" });
      tx.set(pages.anchors.at("https://example.org/"), "a", "an anchor");
      tx.set(pages.anchors.at("nul \0 and ü"), "a", "another");
      for (const day of [-5, 0, 7]) tx.set(visits.count, ["a", day], day * 3);
      for (const name of ["ann", "bob", "cid", "dan"]) tx.set(accounts.cents, name, 100);
    },
    { label: "load" },
  );
  await db.drain();
  await db.transact((tx) => tx.set(pages.body, "a", "Second body"));
  await db.transact((tx) => {
    tx.set(pages.body, "deleted", "to be deleted");
    tx.set(pages.body, "nul \0 row", "x".repeat(3_000));
  });
  await db.transact((tx) => tx.delete(pages.body, "deleted"));
  await db.drain();
  await db.transact((tx) => {
    tx.set(pages.body, "due", "Not handled yet");
    tx.notify(pages.rescore, "due");
  });
  return since;
}

/** Begins a transfer, and ends this process at a mutation of the accounts. */
async function die(location: string, when: keyof typeof deaths): Promise<void> {
  const store = await storeAt(location);
  const prewrites = isOnBigtable(location) ? prewritesOnBigtable : 0;
  let mutations = 0;
  const dying = new Proxy(store, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (name !== "mutate") return typeof value === "function" ? value.bind(target) : value;
      return async (...asked: Parameters<typeof store.mutate>) => {
        if (asked[0].table === "accounts" && ++mutations === deaths[when] + prewrites)
          process.kill(process.pid, "SIGKILL");
        return await store.mutate(...asked);
      };
    },
  });
  const db = await openProgram(dying, { ...openOptions(location), commit: "two-phase" });
  const [from, to] = when === "before its commit point" ? ["ann", "bob"] : ["cid", "dan"];
  await db.transact((tx) => {
    tx.set(accounts.cents, from!, 40);
    tx.set(accounts.cents, to!, 160);
  });
  await new Promise(() => undefined);
}

function openOptions(location: string): Parameters<typeof openProgram>[1] {
  return isOnBigtable(location) ? { fails: true, coordinator: "auto" } : { fails: true };
}

function openFailing(location: string): Promise<Database> {
  return openProgram(location, openOptions(location));
}

function isOnBigtable(location: string): boolean {
  return location.startsWith("bigtable:");
}

function storeAt(location: string): Promise<RowStore> {
  if (isOnBigtable(location)) return openBigtableStore(location);
  return location.startsWith("postgres:")
    ? postgresStore({ connection: location, schema })
    : openLmdbStore(location);
}

/** Writes the database. `copy` copies it as it is, with its locks, because reading it resolves them. */
async function make(location: string, contentFile: string, copy: () => unknown): Promise<void> {
  const since = await write(location);
  for (const when of Object.keys(deaths)) {
    const program = [...process.execArgv, import.meta.filename, location, when];
    const { signal, stderr } = spawnSync(process.execPath, program, { encoding: "utf8" });
    if (signal !== "SIGKILL") throw new Error(`The process did not die ${when}.\n${stderr}`);
  }
  const locks = await countLocks(location);
  await copy();
  await using db = await openFailing(location);
  const content = await contentOf(db, since, changes);
  writeFileSync(
    join(target, contentFile),
    `${JSON.stringify({ since, changes, locks, content }, undefined, 2)}\n`,
  );
}

async function countLocks(location: string): Promise<number> {
  await using db = await openFailing(location);
  let locks = 0;
  for await (const _ of db.locks()) locks++;
  return locks;
}

function writePacked(file: string, data: Buffer): void {
  writeFileSync(join(target, file), gzipSync(data, { level: 9 }));
}

async function makeFolder(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "percolator-fixture-"));
  try {
    await make(folder, "content.json", () =>
      writePacked("data.mdb.gz", readFileSync(join(folder, "data.mdb"))),
    );
    const cli = [join(root, "src/cli/main.ts"), "export", folder, join(target, "export.jsonl.gz"), "--force"];
    const { status, stderr } = spawnSync(process.execPath, [...process.execArgv, ...cli], {
      encoding: "utf8",
    });
    if (status !== 0) throw new Error(`The export failed.\n${stderr}`);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

async function makePostgres(): Promise<void> {
  const { host, user, stop } = await startPostgres();
  try {
    const location = `postgres://${user}@/postgres?${new URLSearchParams({ host, schema })}`;
    const dump = ["-h", host, "-U", user, "-n", schema, "--no-owner", "--no-privileges", "postgres"];
    await make(location, "postgres.json", () =>
      writePacked("postgres.sql.gz", execFileSync("pg_dump", dump)),
    );
  } finally {
    await stop();
  }
}

async function makeBigtable(): Promise<void> {
  await using emulator = await startEmulator();
  process.env.BIGTABLE_EMULATOR_HOST = emulator.host;
  using raw = new RawInstance(emulator.host);
  await make(`bigtable://project/instance?prefix=${schema}`, "bigtable.json", async () =>
    writePacked("bigtable.tables.json.gz", Buffer.from(JSON.stringify(await raw.read()))),
  );
}

const [, , dyingLocation, when] = process.argv;
if (dyingLocation === undefined) {
  mkdirSync(target, { recursive: true });
  await makeFolder();
  await makePostgres();
  await makeBigtable();
} else await die(dyingLocation, when as keyof typeof deaths);
