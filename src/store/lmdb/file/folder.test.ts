import { chmod, mkdir, mkdtemp, open, readFile, rm, stat, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Database, open as openLmdb } from "lmdb";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { StoreDamagedError, StoreError, StoreVersionError } from "../../../errors/index.js";
import type { RangePage, RowStore } from "../../index.js";
import { flags } from "../record/layout.js";
import { openLmdbStore } from "../store.js";
import { DataFile } from "./pages.js";

let base: string;
let number = 0;

beforeAll(async () => {
  base = await mkdtemp(join(tmpdir(), "percolatordb-folder-"));
});

afterAll(async () => {
  await rm(base, { recursive: true, force: true });
});

const newPath = () => join(base, `folder-${++number}`);
const column = Buffer.from("c");

function put(store: RowStore, row: string, value: Uint8Array) {
  return store.mutate({
    table: "t",
    row: Buffer.from(row),
    guards: [],
    mutations: [{ type: "put", column, part: "write", timestamp: 1, value }],
  });
}

/** A closed folder's `meta`, opened directly with LMDB. */
interface Meta {
  put(key: Buffer, value: Uint8Array): Promise<boolean>;
  get(key: Buffer): Uint8Array | undefined;
}

async function withFormat<Result>(
  path: string,
  use: (meta: Meta, key: Buffer) => Result,
): Promise<Awaited<Result>> {
  const root = openLmdb({ path, noSubdir: false });
  const meta: Meta = root.openDB<Buffer, Buffer>({
    name: "meta",
    encoding: "binary",
    keyEncoding: "binary",
  });
  const result = await use(meta, Buffer.from("format"));
  await root.close();
  return result;
}

/** A closed folder's cells, opened directly with LMDB. */
async function withCells(path: string, use: (cells: Database<Buffer, Buffer>) => unknown): Promise<void> {
  const root = openLmdb({ path, noSubdir: false });
  await use(root.openDB<Buffer, Buffer>({ name: "cells", encoding: "binary", keyEncoding: "binary" }));
  await root.close();
}

/** A cell's entry that has a write record of timestamp 1. */
const wasWritten = (value: string) =>
  Buffer.concat([Buffer.of(flags.write, 0, 0, 0, 0, 0, 0, 0, 1), Buffer.from(value)]);

const writeFormat = (path: string, format: string) =>
  withFormat(path, (meta, key) => meta.put(key, Buffer.from(format)));
const readFormat = (path: string) => withFormat(path, (meta, key) => String(meta.get(key)));

/** A closed database with several thousand rows. */
async function filled(): Promise<string> {
  const path = newPath();
  const store = await openLmdbStore(path, { durability: "none" });
  await Promise.all(Array.from({ length: 3_000 }, (_, i) => put(store, `row ${i}`, Buffer.alloc(200, i))));
  await store.close();
  return path;
}

async function refused(
  path: string,
  kind: abstract new (...args: never[]) => Error,
  message: RegExp,
  readOnly = false,
) {
  const error = await openLmdbStore(path, { readOnly }).then(
    async (store) => {
      await store.close();
      return undefined;
    },
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(kind);
  expect((error as Error).message).toMatch(message);
  expect((error as Error).message).toContain(path);
}

describe("opening a folder", () => {
  it("makes missing folders, and takes names with dots", async () => {
    const path = join(newPath(), "deeper", "data.v1");
    const store = await openLmdbStore(path);
    expect(await put(store, "r", column)).toBe("applied");
    await store.close();
    expect((await stat(join(path, "data.mdb"))).isFile()).toBe(true);
    const again = await openLmdbStore(path);
    expect(again.readRange({ table: "t", columns: [{ exact: column }], at: 1 })).toMatchObject({
      rows: [{}],
    });
    await again.close();
  });

  it("refuses a path that is a file, or lies beneath one", async () => {
    const path = newPath();
    await writeFile(path, "text");
    await refused(path, StoreError, /is a file/);
    await refused(join(path, "below"), StoreError, /part of the path is a file/);
    expect(await readFile(path, "utf8")).toBe("text");
  });

  it("refuses a folder of other files, and does not change it", async () => {
    const path = newPath();
    await mkdir(path);
    await writeFile(join(path, "notes.txt"), "text");
    await refused(path, StoreDamagedError, /other files such as notes\.txt/);
    await expect(stat(join(path, "data.mdb"))).rejects.toThrow();
  });

  it("refuses an LMDB database of another program, and does not change it", async () => {
    for (const named of [true, false]) {
      const path = newPath();
      const root = openLmdb({ path, noSubdir: false });
      await (named ? root.openDB({ name: "users" }) : root).put("key", "value");
      await root.close();
      const before = await readFile(join(path, "data.mdb"));
      await refused(path, StoreDamagedError, /is not a database of this package/);
      expect(Buffer.compare(await readFile(join(path, "data.mdb")), before)).toBe(0);
    }
  });

  it("refuses a database that a newer version wrote", async () => {
    const path = await filled();
    await writeFormat(path, "percolatordb 4");
    await refused(path, StoreVersionError, /layout 4.*Upgrade/);
    // One changed bit must not turn the current version into an older one, because opening the
    // folder would then seal the records a second time.
    for (const number of [1, 2]) {
      await writeFormat(path, `percolatordb ${number} sealed`);
      await refused(path, StoreDamagedError, /is not a database of this package/);
    }
  });

  it("converts a database of an earlier version to its own layout before it reads it", async () => {
    const path = await filled();
    await writeFormat(path, "percolatordb 1");
    await withCells(path, async (cells) => {
      // Version 1 kept system tables under their names.
      for (const row of ["a", "b"]) await cells.put(Buffer.from(`~hints\0${row}\0\u0001c`), wasWritten(row));
    });
    await refused(path, StoreVersionError, /layout 1.*Open it once for writing/, true);
    expect(await readFormat(path)).toBe("percolatordb 1");
    const store = await openLmdbStore(path);
    const page = (await store.readRange({
      table: "~hints",
      columns: [{ exact: column }],
      at: 9,
    })) as RangePage;
    expect(page.rows.map(({ row, cells }) => `${Buffer.from(row)} ${cells[0]!.write!.value}`)).toEqual([
      "a a",
      "b b",
    ]);
    const all = (await store.readRange({ table: "t", columns: [{ exact: column }], at: 9 })) as RangePage;
    expect(all.rows).toHaveLength(1_000);
    await store.close();
    expect(await readFormat(path)).toBe("percolatordb 3 sealed");
    await withCells(path, (cells) => {
      expect([...cells.getKeys({ start: Buffer.of(0x7e), end: Buffer.of(0x7f) })]).toEqual([]);
    });
  });

  it("refuses random bytes, and files of another version of LMDB", async () => {
    const path = newPath();
    await mkdir(path);
    await writeFile(join(path, "data.mdb"), Buffer.alloc(100_000, "random"));
    await refused(path, StoreDamagedError, /not a file of LMDB/);
    const other = await filled();
    const file = await open(join(other, "data.mdb"), "r+");
    await file.write(Buffer.from([1, 0, 0, 0]), 0, 4, 28);
    await file.close();
    await refused(other, StoreVersionError, /data version is 1/);
  });

  it("refuses a truncated file, however long it still is", async () => {
    for (const part of [0.9, 0.5, 0.1, 0.01, 0.001]) {
      const path = await filled();
      const file = join(path, "data.mdb");
      await truncate(file, Math.floor((await stat(file)).size * part));
      await refused(path, StoreDamagedError, /damaged/);
      await refused(path, StoreDamagedError, /damaged/, true);
    }
  });

  it("refuses a file whose upper pages are overwritten", async () => {
    const path = await filled();
    const file = await open(join(path, "data.mdb"), "r+");
    const { size } = await file.stat();
    await file.write(Buffer.alloc(size - 8_192, 0x5a), 0, size - 8_192, 8_192);
    await file.close();
    await refused(path, StoreDamagedError, /damaged/);
  });

  it("refuses a page over which LMDB would end the process", async () => {
    const pathOf = async (at: (data: DataFile) => number, bytes: readonly number[]) => {
      const path = await filled();
      const file = await open(join(path, "data.mdb"), "r+");
      const position = at(new DataFile(file.fd, (await file.stat()).size));
      await file.write(Buffer.from(bytes), 0, bytes.length, position + 16);
      await file.close();
      return path;
    };
    const rootOf = (data: DataFile) => data.trees(data.newest()).get("cells")!.root! * data.pageSize;
    const branchOfNothing = [0, 0, 1, 0, 0, 0, 0, 0];
    const leafOfNothing = [0, 0, 2, 0, 0, 0, 0, 0];
    for (const bytes of [branchOfNothing, leafOfNothing]) {
      await refused(await pathOf(rootOf, bytes), StoreDamagedError, /damaged/);
    }
    await refused(await pathOf(() => 0, [0, 0, 0, 0]), StoreDamagedError, /damaged/);
  });

  it("opens over a page whose keys do not ascend, which `verify` finds", async () => {
    const path = await filled();
    const file = await open(join(path, "data.mdb"), "r+");
    const data = new DataFile(file.fd, (await file.stat()).size);
    const root = data.trees(data.newest()).get("cells")!.root!;
    const { branch, nodes, bytes } = data.page(root);
    expect(branch).toBe(true);
    // The first key of a branch page is empty.
    const [one, other] = nodes.slice(1).map(({ key }) => key);
    const length = Math.min(one!.length, other!.length);
    for (const [from, to] of [
      [one!, other!],
      [other!, one!],
    ]) {
      await file.write(
        Buffer.from(from!),
        0,
        length,
        root * data.pageSize + to!.byteOffset - bytes.byteOffset,
      );
    }
    await file.close();
    const store = await openLmdbStore(path);
    const found = await store.verify!();
    await store.close();
    expect(found.map(({ message }) => message).join("\n")).toContain(
      `page ${root} has keys that do not ascend`,
    );
  });

  it("reports what the system forbids", async () => {
    // The superuser may write everywhere.
    if (process.getuid?.() === 0) return;
    const path = newPath();
    await mkdir(path);
    await chmod(path, 0o500);
    await refused(join(path, "below"), StoreError, /no permission/);
  });

  it("opens only an existing database for reading, and refuses to write", async () => {
    await refused(newPath(), StoreError, /no database.*open it for writing/, true);
    const empty = newPath();
    await mkdir(empty);
    await refused(empty, StoreError, /no database.*open it for writing/, true);
    const path = await filled();
    const store = await openLmdbStore(path, { readOnly: true });
    const page = store.readRow({
      table: "t",
      row: Buffer.from("row 7"),
      columns: [{ exact: column }],
      at: 1,
    });
    expect(page).toMatchObject({ cells: [{ latest: true }] });
    expect(store.atomic?.counter()).toBe(0);
    await expect(put(store, "r", column)).rejects.toThrow(/opened with `readOnly`/);
    await expect(store.atomic?.next()).rejects.toThrow(/opened with `readOnly`/);
    await expect(store.atomic?.commit({ rows: [] })).rejects.toThrow(/opened with `readOnly`/);
    await expect(openLmdbStore(path)).rejects.toThrow(/already open with `readOnly` in this process/);
    await store.close();
  });
});
