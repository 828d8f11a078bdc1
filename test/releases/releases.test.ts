import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";
import type { Database } from "percolatordb";
import { afterEach, expect, test } from "vitest";
import { CommandLine } from "../support/command-line.js";
import { contentOf } from "./content.js";
import { accounts, openProgram, pages } from "./program.js";

/** Opens what each released version has written, as `docs/versioning.md` promises it. */

const root = fileURLToPath(new URL("../../", import.meta.url));
const fixtures = join(root, "test/fixtures/releases");
const versions = (await readdir(fixtures)).sort();

interface Expected {
  /** A timestamp before the first change of the feed. */
  readonly since: number;
  readonly changes: number;
  /** How many locks transactions have left whose process died in the middle of their commit. */
  readonly locks: number;
  readonly content: { readonly rows: Readonly<Record<string, readonly unknown[]>> };
}

let db: Database | undefined;
let folder: string | undefined;
afterEach(async () => {
  await db?.close();
  if (folder !== undefined) await rm(folder, { recursive: true });
  [db, folder] = [undefined, undefined];
});

async function expectedOf(version: string): Promise<Expected> {
  return JSON.parse(await readFile(join(fixtures, version, "content.json"), "utf8"));
}

/** Opens a copy of the database that a version has written. */
async function openCopy(version: string): Promise<Database> {
  folder = await mkdtemp(join(tmpdir(), "percolator-release-"));
  const path = join(folder, "data");
  await mkdir(path);
  await writeFile(join(path, "data.mdb"), gunzipSync(await readFile(join(fixtures, version, "data.mdb.gz"))));
  db = await openProgram(path);
  return db;
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

test.each(versions)(
  "a database of %s has all that it had: rows, history, feed, parked and due changes",
  async (version) => {
    const { since, changes, content } = await expectedOf(version);
    expect(await contentOf(await openCopy(version), since, changes)).toEqual(content);
  },
);

test.each(versions)(
  "locks of dead processes in a database of %s are resolved as their primaries decide",
  async (version) => {
    const { locks } = await expectedOf(version);
    const db = await openCopy(version);
    expect(locks).toBeGreaterThan(0);
    expect(await count(db.locks())).toBe(locks);
    const cents = await db.transact((tx) => tx.getMany(accounts.cents, ["ann", "bob", "cid", "dan"]));
    // The first transfer died before its commit point, the second one after it.
    expect(cents).toEqual([100, 100, 40, 160]);
  },
);

test.each(versions)("observers go on in a database of %s, and it is sound", async (version) => {
  const db = await openCopy(version);
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
