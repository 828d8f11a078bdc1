import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";
import type { Database, RowStore } from "percolatordb";
import { openBigtableStore } from "percolatordb/bigtable";
import { afterEach, expect, test } from "vitest";
import { RawInstance } from "../support/bigtable/raw-tables.js";
import { CommandLine } from "../support/command-line.js";
import { startEmulator } from "../support/emulator/index.js";
import { newPlace, withSuperuser } from "../support/postgres/index.js";
import { contentOf } from "./content.js";
import { accounts, openProgram, pages } from "./program.js";

/** Opens what each released version has written, as `docs/versioning.md` promises it. */

const root = fileURLToPath(new URL("../../", import.meta.url));
const fixtures = join(root, "test/fixtures/releases");
const versions = (await readdir(fixtures)).sort();
const stores = ["folder", "PostgreSQL", "Bigtable"] as const;
type Store = (typeof stores)[number];
const cases = versions.flatMap((version) => stores.map((store) => [version, store] as const));

interface Expected {
  /** A timestamp before the first change of the feed. */
  readonly since: number;
  readonly changes: number;
  /** How many locks transactions have left whose process died in the middle of their commit. */
  readonly locks: number;
  readonly content: { readonly rows: Readonly<Record<string, readonly unknown[]>> };
}

let db: Database | undefined;
let remove: (() => Promise<unknown>) | undefined;
afterEach(async () => {
  await db?.close();
  await remove?.();
  [db, remove] = [undefined, undefined];
});

async function expectedOf(version: string, store: Store = "folder"): Promise<Expected> {
  const file = { folder: "content", PostgreSQL: "postgres", Bigtable: "bigtable" }[store];
  return JSON.parse(await readFile(join(fixtures, version, `${file}.json`), "utf8"));
}

async function unpacked(version: string, file: string): Promise<Buffer> {
  return gunzipSync(await readFile(join(fixtures, version, file)));
}

/** Opens a copy of the database that a version has written. */
async function openCopy(version: string, store: Store): Promise<Database> {
  const copy = { folder: copyFolder, PostgreSQL: copySchema, Bigtable: copyTables }[store];
  db = await openProgram(await copy(version), store === "Bigtable" ? { coordinator: "auto" } : {});
  return db;
}

async function copyFolder(version: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "percolator-release-"));
  remove = () => rm(folder, { recursive: true });
  const path = join(folder, "data");
  await mkdir(path);
  await writeFile(join(path, "data.mdb"), await unpacked(version, "data.mdb.gz"));
  return path;
}

async function copySchema(version: string): Promise<string> {
  const { host } = await newPlace();
  const name = `release_${process.pid}`;
  await withSuperuser(host, (pool) => pool.query(`create database ${name}`));
  remove = () => withSuperuser(host, (pool) => pool.query(`drop database ${name} with (force)`));
  execFileSync("psql", ["-h", host, "-U", "postgres", "-d", name, "-q", "-v", "ON_ERROR_STOP=1"], {
    input: await unpacked(version, "postgres.sql.gz"),
    stdio: ["pipe", "ignore", "inherit"],
  });
  return `postgres://postgres@/${name}?${new URLSearchParams({ host, schema: "release" })}`;
}

async function copyTables(version: string): Promise<RowStore> {
  const emulator = await startEmulator();
  remove = () => emulator.stop();
  using raw = new RawInstance(emulator.host);
  await raw.write(JSON.parse((await unpacked(version, "bigtable.tables.json.gz")).toString()));
  const location = "bigtable://project/instance?prefix=release";
  return await openBigtableStore(location, { emulatorHost: emulator.host });
}

async function count(items: AsyncIterable<unknown>): Promise<number> {
  let found = 0;
  for await (const _ of items) found++;
  return found;
}

test("there is a fixture of this version", async () => {
  const { version } = JSON.parse(await readFile(join(root, "package.json"), "utf8"));
  expect(versions).toContain(version);
});

test.each(cases)(
  "a database of %s (%s) has all that it had: rows, history, feed, parked and due changes",
  async (version, store) => {
    const { since, changes, content } = await expectedOf(version, store);
    expect(await contentOf(await openCopy(version, store), since, changes)).toEqual(content);
  },
);

test("the databases of a version hold the same on all stores", async () => {
  for (const version of versions) {
    const [folder, ...others] = await Promise.all(
      stores.map(async (store) => withoutTimestamps((await expectedOf(version, store)).content)),
    );
    for (const other of others) expect(other).toEqual(folder);
  }
});

/** Timestamps differ, because those of PostgreSQL and Bigtable begin with another one. */
function withoutTimestamps(content: unknown): unknown {
  return JSON.parse(
    JSON.stringify(content, (key, value) => (/timestamp/i.test(key) || key === "time" ? "some" : value)),
  );
}

test.each(cases)(
  "locks of dead processes in a database of %s (%s) are resolved as their primaries decide",
  async (version, store) => {
    const { locks } = await expectedOf(version, store);
    const db = await openCopy(version, store);
    expect(locks).toBeGreaterThan(0);
    expect(await count(db.locks())).toBe(locks);
    const cents = await db.transact((tx) => tx.getMany(accounts.cents, ["ann", "bob", "cid", "dan"]));
    // The first transfer died before its commit point, the second one after it.
    expect(cents).toEqual([100, 100, 40, 160]);
  },
);

test.each(cases)("observers go on in a database of %s (%s), and it is sound", async (version, store) => {
  const db = await openCopy(version, store);
  await db.drain();
  expect(await count(db.pending())).toBe(0);
  for await (const parked of db.parked()) await db.retry(parked);
  await db.drain();
  expect(await count(db.parked())).toBe(0);
  const read = () =>
    db.transact(async (tx) => [
      await tx.get(pages.title, "due"),
      await tx.get(pages.score, "due"),
      await tx.get(pages.state, "a"),
    ]);
  expect(await read()).toEqual(["Not h", 1, "done"]);
  expect(await db.check()).toEqual([]);
  await db.collect();
  expect(await db.check()).toEqual([]);
  expect(await read()).toEqual(["Not h", 1, "done"]);
});

test.each(versions)("an export of %s is imported with all rows and due changes", async (version) => {
  const { content } = await expectedOf(version);
  const line = await CommandLine.create();
  const path = join(line.folder, "data");
  const { code, stderr } = await line.run(["import", path, join(fixtures, version, "export.jsonl.gz")]);
  expect(stderr + code).toMatch(/0$/);
  db = await openProgram(path);
  const imported = (await contentOf(db, 0, 0)) as Expected["content"];
  expect(imported.rows).toEqual(content.rows);
  await db.drain();
  expect(await db.transact((tx) => tx.get(pages.score, "due"))).toBe(1);
  expect(await db.check()).toEqual([]);
});
