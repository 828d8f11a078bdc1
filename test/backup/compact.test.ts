import { cp, mkdir, open as openFile, readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { open as openDatabase } from "percolatordb";
import { backup, compact } from "percolatordb/backup";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { DataFile } from "../../src/store/lmdb/file/pages.js";
import { Random } from "../crash/random.js";
import { openAlone } from "../support/databases.js";
import { checkContinued, contents } from "./app.js";
import { addUp, change, items, tables } from "./load.js";
import { common, Places } from "./restored.js";

const { environment } = common;
let places: Places;
let into: string;

beforeEach(async () => {
  places = await Places.make();
  into = places.path("compacted");
});

afterEach(async () => {
  await places[Symbol.asyncDispose]();
});

const openCopy = () => openAlone(into, { tables, observers: [addUp], collectEveryMs: 0 });

async function fill(rows: number): Promise<void> {
  await using db = await places.openData();
  const random = new Random("fill");
  for (let at = 0; at < rows; at += 500) {
    await db.transact((tx) => {
      for (let each = 0; each < 500; each++) {
        tx.set(items.note, `${random.below(1_000_000_000)}`, "note ".repeat(20));
      }
    });
  }
}

describe("compact", () => {
  it.each(["auto", "two-phase"] as const)(
    "copies a state of a folder in use, with its history and what is due, and the copy continues (%s)",
    async (commit) => {
      const random = new Random(`compact:${commit}`);
      const below = (limit: number) => random.below(limit);
      await using db = await places.openData({ commit });
      for (let each = 0; each < 50; each++) await change(db, below);
      await using before = await db.snapshot();
      await using worker = db.work();
      // Its session is known.
      await worker.idle();
      const load = (async () => {
        for (let each = 0; each < 50; each++) await change(db, below);
      })();
      const { timestamp, records, bytes, endedSessions } = await compact(places.data, into, { environment });
      await load;
      await worker.idle();
      expect(endedSessions).toBe(1);
      expect(records).toBeGreaterThan(100);
      expect((await stat(join(into, "data.mdb"))).size).toBe(bytes);
      expect((await readdir(into)).filter((name) => !name.startsWith("lock.mdb"))).toEqual(["data.mdb"]);
      await using copy = await openCopy();
      await using old = await copy.snapshot({ at: before.timestamp });
      expect(await contents(old)).toEqual(await contents(before));
      // In two phases, a transaction can have its timestamp before it is committed.
      if (commit === "auto") {
        await using exact = await db.snapshot({ at: timestamp });
        await using same = await copy.snapshot({ at: timestamp });
        expect(await contents(same)).toEqual(await contents(exact));
      }
      const after = await copy.begin();
      expect(after.startTimestamp).toBeGreaterThan(timestamp);
      await after.rollback();
      await checkContinued(copy);
      for (let each = 0; each < 20; each++) await change(copy, below);
      await checkContinued(copy);
    },
  );

  it("makes a file without free pages, whose pages are full", async () => {
    await fill(20_000);
    const { bytesBefore, bytes } = await compact(places.data, into, { environment });
    // Pages that were written in any order are two thirds full.
    expect(bytes / bytesBefore).toBeLessThan(0.6);
    {
      await using db = await openDatabase(into, { tables, collectEveryMs: 0 });
      await db.transact(async (tx) => {
        let left = 0;
        for await (const { row } of tx.scan(items.note)) if (left++ % 10 > 0) tx.delete(items.note, row);
      });
      await db.collect({ retentionMs: 0 });
    }
    const less = places.path("less");
    const report = await compact(into, less, { environment });
    expect(report.bytesBefore).toBeGreaterThanOrEqual(bytes);
    expect(report.bytes / bytes).toBeLessThan(0.15);
    await using db = await openDatabase(less, { tables, collectEveryMs: 0 });
    expect(await db.check()).toEqual([]);
    await using view = await db.snapshot();
    let rows = 0;
    for await (const _ of view.scan(items.note)) rows++;
    expect(rows).toBeGreaterThan(1_900);
  });

  it("has all of its disk space, since LMDB cannot bear a full disk later", async () => {
    await fill(5_000);
    await compact(places.data, into, { environment });
    const { size, blocks } = await stat(join(into, "data.mdb"));
    expect(blocks * 512).toBeGreaterThanOrEqual(size);
  });

  it("is backed up as a whole by the next backup", async () => {
    await fill(2_000);
    expect(await places.backUp()).toMatchObject({ kind: "full" });
    await compact(places.data, into, { environment });
    {
      await using db = await openCopy();
      await db.transact((tx) => tx.set(items.note, "new", "after the compaction"));
    }
    expect(await backup(into, places.backups, common)).toMatchObject({ kind: "full" });
    await using db = await openCopy();
    await using expected = await db.snapshot();
    await places.restored(undefined, async (restored) => {
      await using found = await restored.snapshot();
      expect(await contents(found)).toEqual(await contents(expected));
    });
  });

  it("tells how far it is, and leaves nothing if it is aborted", async () => {
    await fill(60_000);
    const seen: number[] = [];
    const { records } = await compact(places.data, into, {
      environment,
      onProgress: (done, of) => seen.push(done / of),
    });
    expect(records).toBeGreaterThan(60_000);
    expect(seen.length).toBeGreaterThan(3);
    expect(seen).toEqual([...seen].sort((a, b) => a - b));
    expect(seen.at(-1)).toBe(1);
    const aborting = new AbortController();
    let calls = 0;
    const other = places.path("other");
    const aborted = compact(places.data, other, {
      environment,
      signal: aborting.signal,
      onProgress() {
        calls++;
        setImmediate(() => aborting.abort());
      },
    });
    await expect(aborted).rejects.toMatchObject({ code: "ABORTED" });
    // The event loop has turns meanwhile.
    expect(calls).toBeLessThan(seen.length);
    await expect(stat(other)).rejects.toMatchObject({ code: "ENOENT" });
    await mkdir(other);
    const early = compact(places.data, other, { environment, signal: AbortSignal.abort() });
    await expect(early).rejects.toMatchObject({ code: "ABORTED" });
    expect(await readdir(other)).toEqual([]);
  });

  it("passes on what `onProgress` throws, and leaves nothing", async () => {
    await fill(500);
    const failure = new Error("The terminal is gone.");
    const failing = compact(places.data, into, {
      environment,
      onProgress() {
        throw failure;
      },
    });
    await expect(failing).rejects.toBe(failure);
    await expect(stat(into)).rejects.toMatchObject({ code: "ENOENT" });
  });

  it.each([
    { what: "a damaged page", damage: damageLeaf },
    { what: "a wrong number of records", damage: damageCount },
  ])("finds $what, and leaves nothing", async ({ damage }) => {
    await fill(5_000);
    await damage(join(places.data, "data.mdb"));
    await expect(compact(places.data, into, { environment })).rejects.toMatchObject({
      code: "STORE_DAMAGED",
    });
    await expect(stat(into)).rejects.toMatchObject({ code: "ENOENT" });
  });

  it("reads a folder that it may not write", async () => {
    await fill(500);
    const { records } = await compact(places.data, into, { environment, readOnly: true });
    expect(records).toBeGreaterThan(500);
    await using db = await openCopy();
    expect(await db.check()).toEqual([]);
  });

  it.each([
    { name: "another database", files: ["data.mdb"], message: "holds a database already" },
    { name: "other files", files: ["notes.txt"], message: "holds notes.txt" },
    { name: "a killed compaction", files: ["compacting"], message: "Another compaction into" },
    { name: "a killed restore", files: ["restoring"], message: "Another restore into" },
  ])("refuses a folder with $name", async ({ files, message }) => {
    await fill(500);
    await mkdir(into);
    for (const name of files) await cp(join(places.data, "data.mdb"), join(into, name));
    await expect(compact(places.data, into, { environment })).rejects.toThrow(message);
    expect(await readdir(into)).toEqual(files);
  });

  it.each([
    { from: "data", to: "data/inside", message: "one is inside the other" },
    { from: "data", to: "data", message: "one is inside the other" },
    { from: "none", to: "compacted", message: "There is no database" },
  ])("refuses to copy $from into $to", async ({ from, to, message }) => {
    await fill(500);
    const before = await readdir(places.data);
    await expect(compact(places.path(from), places.path(to), { environment })).rejects.toThrow(message);
    expect(await readdir(places.data)).toEqual(before);
    await expect(stat(into)).rejects.toMatchObject({ code: "ENOENT" });
  });

  it.each(["memory:", "postgres://localhost/shop", "bigtable://p/i"])("refuses %s", async (location) => {
    await expect(compact(location, into)).rejects.toMatchObject({ code: "BACKUP" });
    await fill(500);
    await expect(compact(places.data, location)).rejects.toMatchObject({ code: "BACKUP" });
  });
});

/** Overwrites the number of a leaf of the largest tree. */
async function damageLeaf(path: string): Promise<void> {
  const file = await openFile(path, "r+");
  try {
    const data = new DataFile(file.fd, (await file.stat()).size);
    const trees = [...data.trees(data.newest()).values()];
    const largest = trees.reduce((a, b) => (a.entries > b.entries ? a : b));
    let page = data.page(largest.root!);
    while (page.branch) page = data.page(page.nodes[1]!.child);
    const number = page.bytes.readBigUInt64LE(0);
    await file.write(Buffer.alloc(8, 0xff), 0, 8, Number(number) * data.pageSize);
  } finally {
    await file.close();
  }
}

/** Changes the number of records in the description of the largest tree. */
async function damageCount(path: string): Promise<void> {
  const file = await openFile(path, "r+");
  try {
    const data = new DataFile(file.fd, (await file.stat()).size);
    const { main } = data.newest();
    const { bytes, nodes } = data.page(main.root!);
    const [largest] = nodes.map((node) => node.data).sort((a, b) => entriesOf(b) - entriesOf(a));
    const count = Buffer.alloc(8);
    count.writeBigUInt64LE(BigInt(entriesOf(largest!) + 1));
    const place = main.root! * data.pageSize + largest!.byteOffset - bytes.byteOffset + entriesAt;
    await file.write(count, 0, 8, place);
  } finally {
    await file.close();
  }
}

/** Where the description of a tree has the number of its records. */
const entriesAt = 32;
const entriesOf = (tree: Buffer) => Number(tree.readBigUInt64LE(entriesAt));
