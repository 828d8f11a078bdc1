import { mkdir, readdir, readFile, rename, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { backup, listBackups, restore, verifyBackups } from "percolatordb/backup";
import { describe, expect, test } from "vitest";
import { type Manifest, openJson, sealJson } from "../../src/backup/manifest.js";
import { encodePart, sumOf } from "../../src/backup/parts.js";
import { gather } from "../support/gather.js";
import { items } from "./load.js";
import { common, Places } from "./restored.js";

/** A backup of one row, and the path of its manifest. */
async function made(places: Places): Promise<{ readonly path: string; readonly manifest: Manifest }> {
  await using db = await places.openData();
  await db.transact((tx) => tx.set(items.value, "a", 1));
  const path = join(places.backups, (await places.backUp()).name);
  return { path, manifest: openJson(await readFile(path), path) as Manifest };
}

async function put(places: Places, folder: string, bytes: Buffer): Promise<string> {
  const name = sumOf(bytes);
  await writeFile(join(places.backups, folder, name), bytes);
  return name;
}

/** Stores a list of parts. Resolves to a list of packs with it. */
async function packsOf(places: Places, parts: unknown): Promise<Manifest["packs"]> {
  const name = await put(places, "packs", Buffer.from(JSON.stringify(parts)));
  return [{ name, after: 0, mark: 1, pages: 1, bytes: 1 }];
}

const damaged = { code: "BACKUP_DAMAGED" };

describe("a place of backups that somebody else writes", () => {
  test.each(["../../owned", "/tmp/owned", "..", ".", "", "a/b", "..\\owned", 5])(
    "cannot name the file %j for a restore to write",
    async (fileName) => {
      await using places = await Places.make();
      const { path, manifest } = await made(places);
      const text = Buffer.from("owned".padEnd(512));
      const part = await put(places, "pages", await encodePart(512, [0], text));
      const packs = await packsOf(places, [{ name: part, pages: 1, bytes: 1 }]);
      await writeFile(path, sealJson({ ...manifest, fileName, pageSize: 512, pageCount: 1, packs }));
      const before = await readdir(places.path("."));
      await expect(restore(places.backups, places.path("restored"), common)).rejects.toMatchObject(damaged);
      expect(await readdir(places.path("."))).toEqual(before);
    },
  );

  test.each<[string, object]>([
    ["no packs", { packs: null }],
    ["a pack of another folder", { packs: [{ name: "../../data", after: 0, mark: 1, pages: 1, bytes: 1 }] }],
    ["pages of no bytes", { pageSize: 0 }],
    ["fewer pages than none", { pageCount: -5 }],
    ["more pages than any file", { pageCount: 2 ** 52 }],
    ["a timestamp as text", { timestamp: "1" }],
  ])("with %s in a manifest gets a named error, and a new backup succeeds", async (_, change) => {
    await using places = await Places.make();
    const { path, manifest } = await made(places);
    await writeFile(path, sealJson({ ...manifest, ...change }));
    await expect(restore(places.backups, places.path("restored"), common)).rejects.toMatchObject(damaged);
    await expect(gather(listBackups(places.backups, common))).rejects.toMatchObject(damaged);
    const { problems } = await verifyBackups(places.backups, common);
    expect(problems).toHaveLength(1);
    await backup(places.data, places.backups, common);
    await places.restored(undefined, async (db) => {
      await using snapshot = await db.snapshot();
      expect(await snapshot.get(items.value, "a")).toBe(1);
    });
  });

  test.each<[string, (places: Places) => Promise<Manifest["packs"]>]>([
    ["a list of parts that is none", (places) => packsOf(places, { length: 1 })],
    ["a part of another folder", (places) => packsOf(places, [{ name: "../../data", pages: 1, bytes: 1 }])],
    [
      "a part that becomes larger than any part",
      async (places) => {
        const name = await put(places, "pages", gzipSync(Buffer.alloc(16 * 2 ** 20)));
        return packsOf(places, [{ name, pages: 1, bytes: 1 }]);
      },
    ],
  ])("with %s gets a named error", async (_, packs) => {
    await using places = await Places.make();
    const { path, manifest } = await made(places);
    await writeFile(path, sealJson({ ...manifest, packs: await packs(places) }));
    await expect(restore(places.backups, places.path("restored"), common)).rejects.toMatchObject(damaged);
    expect(await readdir(places.path("."))).not.toContain("restored");
  });

  test("with pages far beyond the end of the file makes no larger file", async () => {
    await using places = await Places.make();
    const { path, manifest } = await made(places);
    const page = Buffer.alloc(manifest.pageSize);
    const part = await encodePart(manifest.pageSize, [2 ** 50], page);
    const name = await put(places, "pages", part);
    const packs = [...manifest.packs, ...(await packsOf(places, [{ name, pages: 1, bytes: 1 }]))];
    await writeFile(path, sealJson({ ...manifest, packs }));
    await places.restored(undefined, async (_, { bytes }) => {
      expect(bytes).toBe(manifest.pageCount * manifest.pageSize);
    });
  });

  test.each(["manifests", "packs", "pages"])(
    "cannot make a backup delete files elsewhere with a link in place of %s",
    async (name) => {
      await using places = await Places.make();
      await made(places);
      const elsewhere = places.path("elsewhere");
      await rename(join(places.backups, name), elsewhere);
      await symlink(elsewhere, join(places.backups, name), "junction");
      await writeFile(join(elsewhere, "0".repeat(64)), "precious");
      const before = await readdir(elsewhere);
      await using db = await places.openData();
      await db.transact((tx) => tx.set(items.value, "a", 2));
      await expect(places.backUp({ keep: 1 })).rejects.toMatchObject({
        code: "BACKUP",
        message: expect.stringContaining(`${name} is a link`),
      });
      expect(await readdir(elsewhere)).toEqual(before);
    },
  );

  test("keeps the files that no backup has written", async () => {
    await using places = await Places.make();
    await made(places);
    const others = [join(places.backups, "pages", "notes.txt"), join(places.backups, "packs", "more")];
    await writeFile(others[0]!, "precious");
    await mkdir(others[1]!);
    await using db = await places.openData();
    await db.transact((tx) => tx.set(items.value, "a", 2));
    expect(await places.backUp({ keep: 1 })).toMatchObject({ deleted: 1 });
    expect(await readFile(others[0]!, "utf8")).toBe("precious");
    expect(await readdir(others[1]!)).toEqual([]);
  });

  test("with a head that is none gets a named error", async () => {
    await using places = await Places.make();
    await made(places);
    const head = join(places.backups, "percolatordb-backups.json");
    for (const document of [[], { format: "percolatordb-backup", version: 1 }]) {
      await writeFile(head, sealJson(document));
      const restoring = restore(places.backups, places.path("restored"), common);
      await expect(restoring).rejects.toMatchObject({ code: expect.stringMatching(/^BACKUP/) });
    }
  });
});
