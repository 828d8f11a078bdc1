import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { open as openLmdb } from "lmdb";
import { afterAll, beforeAll, expect, test } from "vitest";
import { StoreVersionError } from "../../src/errors/index.js";
import { allColumns, type PartVersion, parts, type RowStore } from "../../src/store/index.js";
import { openLmdbStore } from "../../src/store/lmdb/index.js";

/**
 * A small database in layout 2, written by the code of that time. Its rows are listed in {@link
 * expectAll}.
 */
const layout2 = new URL("layouts/layout-2.mdb.gz", import.meta.url);

let base: string;
let number = 0;

beforeAll(async () => {
  base = await mkdtemp(join(tmpdir(), "percolatordb-layouts-"));
});

afterAll(async () => {
  await rm(base, { recursive: true, force: true });
});

async function oldFolder(): Promise<string> {
  const path = join(base, `folder-${++number}`);
  await mkdir(path);
  await writeFile(join(path, "data.mdb"), gunzipSync(await readFile(layout2)));
  return path;
}

async function rawRows(store: RowStore, table: string): Promise<Map<string, readonly PartVersion[]>> {
  const page = await store.readRaw({ table, columns: allColumns, parts });
  return new Map(page.rows.map(({ row, cells }) => [String(Buffer.from(row)), cells[0]!.versions]));
}

const shown = (versions: readonly PartVersion[] | undefined) =>
  versions?.map(({ part, timestamp, value }) => `${part} ${timestamp} ${Buffer.from(value)}`);

async function expectAll(store: RowStore): Promise<void> {
  const rows = await rawRows(store, "t");
  expect([...rows.keys()]).toEqual(["beside", "far", "locked", "many", "plain"]);
  expect(shown(rows.get("plain"))).toEqual(["write 10 value"]);
  expect(shown(rows.get("beside"))).toEqual(["write 3 value 3", "write 2 value 2", "write 1 value 1"]);
  expect(shown(rows.get("locked"))).toEqual(["lock 12 lock", "data 12 data", "txn 11 status"]);
  expect(shown(rows.get("far"))).toEqual([`write 7 ${Buffer.alloc(20_000, "far")}`]);
  expect(shown(rows.get("many"))).toEqual(
    Array.from({ length: 40 }, (_, i) => `write ${40 - i} ${Buffer.alloc(30, `version ${40 - i} `)}`),
  );
  const hints = await rawRows(store, "~hints");
  const hint = 1795377039769067;
  expect(shown(hints.get("hint"))).toEqual([`write ${hint} due`]);
  expect(await store.atomic?.counter()).toBe(hint);
}

async function layoutOf(path: string): Promise<string> {
  const root = openLmdb({ path, noSubdir: false });
  const meta = root.openDB<Buffer, Buffer>({ name: "meta", encoding: "binary", keyEncoding: "binary" });
  const format = String(meta.get(Buffer.from("format")));
  await root.close();
  return format;
}

test("a folder of layout 2 keeps all its data when it is upgraded to layout 3", async () => {
  const path = await oldFolder();
  await expect(openLmdbStore(path, { readOnly: true })).rejects.toThrow(StoreVersionError);
  await expect(openLmdbStore(path, { readOnly: true })).rejects.toThrow(
    /layout 2.*Open it once for writing: this upgrades it to layout 3/,
  );
  expect(await layoutOf(path)).toBe("percolatordb 2");
  for (let time = 1; time <= 2; time++) {
    const store = await openLmdbStore(path);
    await expectAll(store);
    await store.close();
    expect(await layoutOf(path)).toBe("percolatordb 3 sealed");
  }
  const reader = await openLmdbStore(path, { readOnly: true });
  await expectAll(reader);
  await reader.close();
});

test("an interrupted upgrade continues, however many cells were sealed by then", async () => {
  const whole = await oldFolder();
  await (await openLmdbStore(whole)).close();
  const entriesOf = async (path: string, name: string) => {
    const root = openLmdb({ path, noSubdir: false });
    const database = root.openDB<Buffer, Buffer>({ name, encoding: "binary", keyEncoding: "binary" });
    const entries = [...database.getRange({})].map(({ key, value }) => [
      Buffer.from(key),
      Buffer.from(value),
    ]);
    await root.close();
    return entries as [Buffer, Buffer][];
  };
  const names = ["cells", "versions", "protocol"];
  const sealed = await Promise.all(names.map((name) => entriesOf(whole, name)));
  const state = (await entriesOf(whole, "meta")).find(([key]) => String(key) === "state")!;
  for (const [place, name] of names.entries()) {
    for (const count of [0, 1, sealed[place]!.length - 1, sealed[place]!.length]) {
      const path = await oldFolder();
      const root = openLmdb({ path, noSubdir: false });
      const named = (each: string) =>
        root.openDB<Buffer, Buffer>({ name: each, encoding: "binary", keyEncoding: "binary" });
      for (const [earlier, each] of names.slice(0, place).entries())
        for (const [key, value] of sealed[earlier]!) await named(each).put(key, value);
      const done = sealed[place]!.slice(0, count);
      for (const [key, value] of done) await named(name).put(key, value);
      const meta = named("meta");
      await meta.put(...state);
      await meta.put(Buffer.from("format"), Buffer.from("percolatordb 3 sealing"));
      await meta.put(
        Buffer.from("sealed through"),
        Buffer.concat([Buffer.of(place), ...done.slice(-1).map(([key]) => key)]),
      );
      await root.close();
      await expect(openLmdbStore(path, { readOnly: true })).rejects.toThrow(/upgrade was interrupted/);
      const store = await openLmdbStore(path);
      await expectAll(store);
      await store.close();
    }
  }
});
