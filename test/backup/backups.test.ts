import { copyFile, cp, mkdir, readdir, readFile, rm, stat, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Database } from "percolatordb";
import { listBackups, restore, verifyBackups } from "percolatordb/backup";
import { openLmdbStore } from "percolatordb/lmdb";
import { describe, expect, test } from "vitest";
import { FolderBackup } from "../../src/backup/folder-backup.js";
import { type Manifest, openJson, type Part, parseParts, sealJson } from "../../src/backup/manifest.js";
import { decodePart, encodePart, sumOf } from "../../src/backup/parts.js";
import { BackupPlace } from "../../src/backup/place.js";
import { storageOf } from "../../src/backup/storage-of.js";
import { systemEnvironment } from "../../src/environment/index.js";
import { BackupDamagedError, BackupError } from "../../src/errors/index.js";
import { allColumns } from "../../src/store/index.js";
import { temporaryFolder } from "../support/databases.js";
import { checkContinued } from "./app.js";
import { items } from "./load.js";
import { common, Places } from "./restored.js";

const set = (db: Database, row: string, value: number) =>
  db.transact((tx) => tx.set(items.value, row, value));

async function numberIn(db: Database, row: string): Promise<number | undefined> {
  await using snapshot = await db.snapshot();
  return await snapshot.get(items.value, row);
}

const valueIn = (places: Places, at: number | Date | undefined, row = "a") =>
  places.restored(at, (db) => numberIn(db, row));

/** The names of the files in a place, without the lock. */
async function files(places: Places): Promise<readonly string[]> {
  const names = await readdir(places.backups, { recursive: true });
  return names.filter((name) => !name.endsWith("lock.json")).sort();
}

function openPlace(places: Places): Promise<BackupPlace> {
  return BackupPlace.open(storageOf(places.backups, systemEnvironment, {}), systemEnvironment, {
    create: false,
  });
}

async function filled(places: Places): Promise<void> {
  await using db = await places.openData();
  const rows = Array.from({ length: 300 }, (_, row) => row);
  await Promise.all(
    rows.map((row) =>
      db.transact((tx) => {
        tx.set(items.value, `row${row}`, row);
        tx.set(items.note, `row${row}`, `${row} `.repeat(400));
      }),
    ),
  );
}

describe("backups", () => {
  describe.each([
    { which: "newest", damaged: 2 },
    { which: "middle", damaged: 1 },
    { which: "oldest", damaged: 0 },
  ])("of which the manifest of the $which is damaged", ({ damaged }) => {
    async function made(places: Places) {
      await using db = await places.openData();
      const reports = [];
      for (let value = 0; value < 3; value++) {
        await set(db, "a", value);
        reports.push(await places.backUp());
      }
      await writeFile(join(places.backups, reports[damaged]!.name), "{}");
      return reports;
    }

    test("can be listed and restored, except for that one", async () => {
      await using places = await Places.make();
      const reports = await made(places);
      const listed: string[] = [];
      const listing = (async () => {
        for await (const { name } of listBackups(places.backups, common)) listed.push(name);
      })();
      await expect(listing).rejects.toMatchObject({
        code: "BACKUP_DAMAGED",
        message: expect.stringContaining(reports[damaged]!.name),
      });
      const sound = reports.filter((_, index) => index !== damaged);
      expect(listed).toEqual(sound.map(({ name }) => name).reverse());
      for (const [value, { takenAt, timestamp }] of reports.entries()) {
        for (const at of [new Date(takenAt), timestamp]) {
          if (value === damaged)
            await expect(valueIn(places, new Date(takenAt))).rejects.toThrow(/is damaged/);
          else expect(await valueIn(places, at)).toBe(value);
        }
      }
    });

    test("can be continued, and are deleted in time", async () => {
      await using places = await Places.make();
      await made(places);
      await using db = await places.openData();
      const packs = async () => (await files(places)).filter((name) => name.startsWith("packs/"));
      const before = await packs();
      await set(db, "a", 3);
      expect(await places.backUp({ keep: 4 })).toMatchObject({ kind: "changes", deleted: 0 });
      expect(await valueIn(places, undefined)).toBe(3);
      expect(await packs()).toEqual(expect.arrayContaining(before));
      await set(db, "a", 4);
      expect(await places.backUp({ keep: 1 })).toMatchObject({ deleted: 4 });
      expect(await (await openPlace(places)).verify()).toEqual([]);
      expect(await valueIn(places, undefined)).toBe(4);
    });
  });

  test("of which one has the manifest of another are not taken for each other", async () => {
    await using places = await Places.make();
    await using db = await places.openData();
    await set(db, "a", 1);
    const first = await places.backUp();
    await set(db, "a", 2);
    const second = await places.backUp();
    await copyFile(join(places.backups, first.name), join(places.backups, second.name));
    expect(await (await openPlace(places)).verify()).toMatchObject([{ backups: [second.name] }]);
    await expect(valueIn(places, undefined)).rejects.toMatchObject({ code: "BACKUP_DAMAGED" });
  });

  test("the first has everything, a later one what has changed, and there is none if nothing has", async () => {
    await using places = await Places.make();
    await filled(places);
    const first = await places.backUp();
    expect(first).toMatchObject({ kind: "full", deleted: 0 });
    expect(await places.backUp()).toMatchObject({ kind: "unchanged", name: first.name, bytes: 0 });
    {
      await using db = await places.openData();
      await set(db, "a", 1);
    }
    const second = await places.backUp();
    expect(second.kind).toBe("changes");
    expect(second.pages).toBeLessThan(first.pages / 4);
    expect(second.bytes).toBeLessThan(first.bytes / 4);
    expect(second.timestamp).toBeGreaterThan(first.timestamp);
    expect(await valueIn(places, undefined)).toBe(1);
    expect(await valueIn(places, first.timestamp)).toBeUndefined();
    expect(await valueIn(places, first.timestamp, "row7")).toBe(7);
    expect(await (await openPlace(places)).verify()).toEqual([]);
  });

  test("a time between two backups gives the earlier one, and says when the later one was taken", async () => {
    await using places = await Places.make();
    await using db = await places.openData();
    await set(db, "a", 1);
    const first = await places.backUp();
    await set(db, "a", 2);
    const second = await places.backUp();
    for (const at of [
      first.timestamp,
      second.timestamp - 1,
      new Date(first.takenAt),
      new Date(second.takenAt - 1),
    ]) {
      await places.restored(at, async (restored, report) => {
        expect(await numberIn(restored, "a")).toBe(1);
        expect(report).toMatchObject({ takenAt: first.takenAt, nextTakenAt: second.takenAt });
      });
    }
    for (const at of [second.timestamp, new Date(second.takenAt), undefined]) {
      await places.restored(at, async (restored, report) => {
        expect(await numberIn(restored, "a")).toBe(2);
        expect(report.nextTakenAt).toBeUndefined();
      });
    }
    await expect(valueIn(places, new Date(first.takenAt - 1))).rejects.toThrow(/No backup .* is as old/);
  });

  test("a chain of many small backups stays short, and each is restored", async () => {
    await using places = await Places.make();
    await filled(places);
    const timestamps: number[] = [];
    {
      await using db = await places.openData();
      for (let value = 0; value < 40; value++) {
        await set(db, "a", value);
        timestamps.push((await places.backUp()).timestamp);
      }
    }
    const place = await openPlace(places);
    for (const entry of await place.list()) {
      expect((await place.manifest(entry)).packs.length).toBeLessThanOrEqual(14);
    }
    for (const value of [0, 1, 6, 7, 8, 9, 15, 16, 17, 30, 39]) {
      expect(await valueIn(places, timestamps[value])).toBe(value);
    }
    expect(await place.verify()).toEqual([]);
  });

  test("old backups are deleted with what only they need", async () => {
    await using places = await Places.make();
    await filled(places);
    {
      await using db = await places.openData();
      for (let value = 0; value < 12; value++) {
        await set(db, "a", value);
        await places.backUp();
      }
    }
    const place = await openPlace(places);
    expect(await place.list()).toHaveLength(12);
    const before = await files(places);
    // As a killed backup leaves them.
    await writeFile(join(places.backups, "pages", ".unfinished-1"), "half");
    await writeFile(join(places.backups, "pages", "0".repeat(64)), "whole, but in no backup");
    expect(await places.backUp({ keep: 3 })).toMatchObject({ kind: "unchanged", deleted: 9 });
    expect(await place.list()).toHaveLength(3);
    const after = await files(places);
    expect(after.length).toBeLessThan(before.length);
    expect(after.filter((name) => !before.includes(name))).toEqual([]);
    expect(await place.verify()).toEqual([]);
    expect(await valueIn(places, undefined)).toBe(11);
    expect(await places.backUp({ keepForMs: 3_600_000, keep: 1 })).toMatchObject({ deleted: 0 });
    // The newest one is always kept.
    expect(await places.backUp({ keepForMs: 0 })).toMatchObject({ deleted: 2 });
    expect(await valueIn(places, undefined)).toBe(11);
  });

  test("backups that are deleted while others list or verify them are not taken for damaged", async () => {
    await using places = await Places.make();
    await using db = await places.openData();
    for (let value = 0; value < 3; value++) {
      await set(db, "a", value);
      await places.backUp();
    }
    let listed = 0;
    for await (const _ of listBackups(places.backups, common)) {
      if (listed++ > 0) continue;
      await set(db, "a", 3);
      await places.backUp({ keep: 2 });
    }
    expect(listed).toBe(1);
    // A backup is deleted before what only it needs.
    const onProgress = async () => {
      for (const folder of ["manifests", "packs", "pages"])
        await rm(join(places.backups, folder), { recursive: true, force: true });
    };
    expect(await verifyBackups(places.backups, { ...common, onProgress })).toEqual({
      backups: 2,
      problems: [],
    });
  });

  test("a folder that was replaced in place by an older copy keeps everything", async () => {
    await using places = await Places.make();
    await filled(places);
    await places.backUp();
    await cp(places.data, places.path("older"), { recursive: true });
    for (const value of [1, 2, 3]) {
      await using db = await places.openData();
      for (let row = 0; row < 50; row++) await set(db, `row${row}`, value);
      await db.collect({ retentionMs: 0 });
      await places.backUp();
    }
    // In place, so that the file's identity stays. Its transactions get the same numbers again.
    await copyFile(join(places.path("older"), "data.mdb"), join(places.data, "data.mdb"));
    await rm(join(places.data, "lock.mdb"));
    {
      await using db = await places.openData();
      for (let row = 100; row < 150; row++) await set(db, `row${row}`, -row);
      await db.collect({ retentionMs: 0 });
      // The older copy has the mark of the first backup, so only that one is its past.
      expect(await places.backUp()).toMatchObject({ kind: "changes" });
      await set(db, "a", 9);
      await places.backUp();
    }
    await places.restored(undefined, async (db) => {
      expect(await numberIn(db, "row7")).toBe(7);
      expect(await numberIn(db, "row107")).toBe(-107);
      expect(await numberIn(db, "a")).toBe(9);
      await checkContinued(db);
    });
  });

  test("a restored folder is backed up to the same place, next to the original", async () => {
    await using places = await Places.make();
    await filled(places);
    const first = await places.backUp();
    await restore(places.backups, places.path("copy"), common);
    {
      await using db = await places.openData();
      await set(db, "a", 1);
    }
    await places.backUp();
    const copy = await FolderBackup.open({
      ...common,
      location: places.path("copy"),
      destination: places.backups,
    });
    const second = await copy.make();
    await copy.close();
    // The copy has the mark of the first backup, and knows nothing of the second.
    expect(second.kind).toBe("changes");
    expect(await valueIn(places, second.timestamp)).toBeUndefined();
    expect(await valueIn(places, undefined, "row7")).toBe(7);
    expect(second.timestamp).toBeGreaterThan(first.timestamp);
  });

  test("sessions of the original have ended in the restored folder", async () => {
    await using places = await Places.make();
    await using db = await places.openData();
    await using _worker = db.work();
    await set(db, "a", 1);
    await expect.poll(async () => (await db.status()).sessions.size).toBe(1);
    await places.backUp();
    await restore(places.backups, places.path("copy"), common).then((report) =>
      expect(report.endedSessions).toBe(1),
    );
    const store = await openLmdbStore(places.path("copy"), { create: false });
    const end = { row: Buffer.from("session0") };
    const rows = await store.readRange({
      table: "~system",
      start: { row: Buffer.from("session/") },
      end,
      columns: allColumns,
      at: Number.POSITIVE_INFINITY,
    });
    await store.close();
    expect(rows.rows).toEqual([]);
  });

  test("a folder that can only be read is backed up as a whole each time", async () => {
    await using places = await Places.make();
    await filled(places);
    const only = { ...common, location: places.data, destination: places.backups, readOnly: true };
    const backup = await FolderBackup.open(only);
    expect(await backup.make()).toMatchObject({ kind: "full" });
    expect(await backup.make()).toMatchObject({ kind: "full" });
    await backup.close();
    expect(await valueIn(places, undefined, "row7")).toBe(7);
  });
});

describe("a place", () => {
  test("with other files is refused, and so is one inside the database", async () => {
    await using places = await Places.make();
    await filled(places);
    await mkdir(places.backups);
    await mkdir(join(places.backups, "lost+found"));
    await writeFile(join(places.backups, "photo.jpg"), "x");
    await expect(places.backUp()).rejects.toThrow(/holds no backups, but other files such as photo.jpg/);
    expect(await readdir(places.backups)).toEqual(["lost+found", "photo.jpg"]);
    await rm(join(places.backups, "photo.jpg"));
    expect(await places.backUp({ keep: 1 })).toMatchObject({ kind: "full" });
    for (const destination of [places.data, join(places.data, "backups"), places.path("")]) {
      await expect(FolderBackup.open({ ...common, location: places.data, destination })).rejects.toThrow(
        /one is inside the other/,
      );
    }
    expect(await readdir(places.data)).not.toContain("backups");
  });

  test("without backups is refused by a restore", async () => {
    await using places = await Places.make();
    const location = places.path("new");
    await expect(restore(places.backups, location, common)).rejects.toThrow(/There are no backups/);
    await filled(places);
    const backup = await FolderBackup.open({ ...common, location: places.data, destination: places.backups });
    await expect(restore(places.backups, location, common)).rejects.toThrow(/no complete backup/);
    await backup.close();
  });

  test.each([new Date(Number.NaN), Number.NaN, "2026-01-31"])("is not restored at %s", async (at) => {
    await using places = await Places.make();
    await filled(places);
    await places.backUp();
    await expect(valueIn(places, at as Date)).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
  });

  test.each([
    ["postgres://localhost/shop", /PostgreSQL.*pg_dump/],
    ["bigtable://project/instance", /Bigtable's own backups/],
    ["memory:", /in memory/],
  ])("%s is not a folder", async (location, message) => {
    await using places = await Places.make();
    await expect(FolderBackup.open({ ...common, location, destination: places.backups })).rejects.toThrow(
      message,
    );
    await expect(restore(places.backups, location, common)).rejects.toThrow(message);
  });

  test("takes backups of one process at a time, and a dead one does not hold it", async () => {
    await using places = await Places.make();
    await filled(places);
    const options = { ...common, location: places.data, destination: places.backups };
    const backup = await FolderBackup.open(options);
    await expect(FolderBackup.open(options)).rejects.toThrow(/Another process writes backups to/);
    // Another process has taken the lock over: this one writes no manifest any more.
    const lock = join(places.backups, "lock.json");
    const held = JSON.parse(await readFile(lock, "utf8")) as { readonly process: string };
    await writeFile(lock, JSON.stringify({ ...held, holder: "another" }));
    await expect(backup.make()).rejects.toThrow(/Another process/);
    await backup.close();
    expect(await (await openPlace(places)).list()).toEqual([]);
    // A process of this machine that has ended.
    const ended = held.process.replace(/\d+$/, "4194304");
    await writeFile(lock, JSON.stringify({ ...held, holder: "dead", process: ended }));
    expect(await places.backUp()).toMatchObject({ kind: "full" });
    expect(await readdir(places.backups)).not.toContain("lock.json");
  });

  test("a holder on another machine is dead once its heartbeats have stopped", async () => {
    await using places = await Places.make();
    await filled(places);
    await places.backUp();
    const lock = join(places.backups, "lock.json");
    const held = { holder: "far", process: "elsewhere/0123456789abcdef/7", beat: 1 };
    let nowMs = 0;
    let beats = true;
    // Time passes only in the lock's waits, one second each.
    const environment = {
      ...systemEnvironment,
      processName: systemEnvironment.processName,
      monotonic: () => nowMs,
      setTimer(callback: () => void, delayMs: number, options?: { background?: boolean }) {
        if (options?.background) return systemEnvironment.setTimer(callback, 1e9, options);
        nowMs += delayMs;
        if (beats) held.beat++;
        let cancelled = false;
        void writeFile(lock, JSON.stringify(held)).then(() => cancelled || callback());
        return { cancel: () => (cancelled = true) };
      },
    };
    const options = { ...common, environment, location: places.data, destination: places.backups };
    await writeFile(lock, JSON.stringify(held));
    await expect(FolderBackup.open(options)).rejects.toThrow(/Another process .*elsewhere/);
    beats = false;
    await (await FolderBackup.open(options)).close();
    expect(nowMs).toBeGreaterThanOrEqual(20_000);
  });
});

describe("damage", () => {
  async function withDamage(
    prefix: string,
    damage: (path: string) => Promise<void>,
    use: (places: Places) => Promise<void>,
  ): Promise<void> {
    await using places = await Places.make();
    await filled(places);
    await places.backUp();
    const folder = join(places.backups, prefix);
    for (const name of await readdir(folder)) await damage(join(folder, name));
    await use(places);
  }

  const flip = async (path: string) => {
    const bytes = await readFile(path);
    bytes[Math.floor(bytes.length / 2)]! ^= 0x10;
    await writeFile(path, bytes);
  };

  test.each([
    ["pages", "changed", flip],
    ["pages", "cut", async (path: string) => truncate(path, Math.floor((await stat(path)).size / 2))],
    ["pages", "missing", (path: string) => rm(path)],
    ["packs", "changed", flip],
    ["packs", "missing", (path: string) => rm(path)],
    ["manifests", "changed", flip],
    ["manifests", "cut", (path: string) => truncate(path, 40)],
  ])("%s that are %s are found, and nothing is left of a restore", async (prefix, _, damage) => {
    await withDamage(prefix, damage, async (places) => {
      const location = places.path("new");
      const restored = restore(places.backups, location, common);
      await expect(restored).rejects.toThrow(BackupDamagedError);
      await expect(stat(location)).rejects.toThrow("ENOENT");
      const problems = await (await openPlace(places)).verify();
      expect(problems).toHaveLength(1);
      expect(problems[0]!.backups).toHaveLength(1);
      expect(problems[0]!.message).toContain(prefix);
    });
  });

  test("a newer format is refused", async () => {
    await using places = await Places.make();
    await filled(places);
    await places.backUp();
    const head = { format: "percolatordb-backup", version: 2, id: "x" };
    await writeFile(join(places.backups, "percolatordb-backups.json"), sealJson(head));
    await expect(places.backUp()).rejects.toThrow(/Upgrade the package/);
  });
});

describe("a restore", () => {
  test("overwrites nothing", async () => {
    await using places = await Places.make();
    await filled(places);
    await places.backUp();
    // The message names the database, whatever else is there.
    await writeFile(join(places.data, "a note.txt"), "mine");
    await expect(restore(places.backups, places.data, common)).rejects.toThrow(
      /holds a database already, and a restore never overwrites anything/,
    );
    const location = places.path("other");
    await mkdir(location);
    await writeFile(join(location, "notes.txt"), "mine");
    await expect(restore(places.backups, location, common)).rejects.toThrow(/holds notes.txt/);
    expect(await readdir(location)).toEqual(["notes.txt"]);
    await rm(join(location, "notes.txt"));
    await mkdir(join(location, "restoring"));
    await expect(restore(places.backups, location, common)).rejects.toThrow(/delete .*restoring/);
    await rm(join(location, "restoring"), { recursive: true });
    await restore(places.backups, location, common);
    expect(await readdir(location)).toEqual(["data.mdb"]);
  });

  test("has no holes, so that a full disk shows at once", async () => {
    await using places = await Places.make();
    await filled(places);
    {
      await using db = await places.openData();
      for (let row = 0; row < 300; row++) await db.transact((tx) => tx.deleteRow(items, `row${row}`));
      await db.collect({ retentionMs: 0 });
    }
    await places.backUp();
    const { bytes } = await restore(places.backups, places.path("new"), common);
    const file = await stat(join(places.path("new"), "data.mdb"));
    expect(file.size).toBeGreaterThanOrEqual(bytes);
    expect(file.blocks * 512).toBeGreaterThanOrEqual(bytes);
  });

  test("refuses a machine whose clock is behind", async () => {
    await using places = await Places.make();
    await filled(places);
    const { timestamp } = await places.backUp();
    const environment = {
      ...systemEnvironment,
      processName: systemEnvironment.processName,
      now: () => timestamp / 1_000 - 60_000,
    };
    const location = places.path("new");
    const restored = restore(places.backups, location, { ...common, environment });
    await expect(restored).rejects.toThrow(BackupError);
    await expect(stat(location)).rejects.toThrow("ENOENT");
  });

  test("refuses the database of a newer version as such, and leaves nothing", async () => {
    await using places = await Places.make();
    await filled(places);
    const path = join(places.backups, (await places.backUp()).name);
    const manifest = openJson(await readFile(path), path) as Manifest;
    const stored = async (folder: string, bytes: Buffer) => {
      await writeFile(join(places.backups, folder, sumOf(bytes)), bytes);
      return sumOf(bytes);
    };
    const inPlace = (folder: string, name: string) => readFile(join(places.backups, folder, name));
    const parts: Part[] = [];
    for (const part of parseParts(await inPlace("packs", manifest.packs[0]!.name), "")) {
      const runs = await decodePart(await inPlace("pages", part.name), manifest.pageSize, "");
      const pages = Buffer.concat(runs.map(({ bytes }) => bytes));
      const numbers = runs.flatMap(({ first, bytes }) =>
        Array.from({ length: bytes.length / manifest.pageSize }, (_, i) => first + i),
      );
      const format = "percolatordb 3 sealed";
      for (let at = pages.indexOf(format); at >= 0; at = pages.indexOf(format, at + 1))
        pages.write(format.replace("3", "4"), at);
      parts.push({
        ...part,
        name: await stored("pages", await encodePart(manifest.pageSize, numbers, pages)),
      });
    }
    const pack = await stored("packs", Buffer.from(JSON.stringify(parts)));
    await writeFile(path, sealJson({ ...manifest, packs: [{ ...manifest.packs[0], name: pack }] }));
    const restored = restore(places.backups, places.path("new"), common);
    await expect(restored).rejects.toMatchObject({ code: "STORE_VERSION" });
    await expect(stat(places.path("new"))).rejects.toThrow("ENOENT");
  });

  test("can be aborted, and leaves nothing", async () => {
    await using places = await Places.make();
    await filled(places);
    await places.backUp();
    const controller = new AbortController();
    const location = places.path("new");
    const restored = restore(places.backups, location, {
      ...common,
      signal: controller.signal,
      onProgress: () => controller.abort(),
    });
    await expect(restored).rejects.toMatchObject({ code: "ABORTED" });
    await expect(stat(location)).rejects.toThrow("ENOENT");
  });
});

test("a database that is written all the time is followed until the signal", async () => {
  await using places = await Places.make();
  await using db = await places.openData();
  const { path, remove } = await temporaryFolder();
  const controller = new AbortController();
  const backup = await FolderBackup.open({
    ...common,
    location: places.data,
    destination: places.backups,
    signal: controller.signal,
    keep: 3,
  });
  const kinds: string[] = [];
  let value = 0;
  try {
    for await (const done of backup.follow(1)) {
      kinds.push(done.kind);
      await set(db, "a", ++value);
      if (value === 6) {
        // A place that fails for a while.
        await cp(join(places.backups, "pages"), path, { recursive: true });
        await rm(join(places.backups, "pages"), { recursive: true });
        await writeFile(join(places.backups, "pages"), "");
      }
      if (done.kind === "failed") {
        await rm(join(places.backups, "pages"));
        await cp(path, join(places.backups, "pages"), { recursive: true });
      }
      if (value === 12) controller.abort();
    }
  } catch (error) {
    expect(error).toMatchObject({ code: "ABORTED" });
  }
  await backup.close();
  await remove();
  expect(kinds.filter((kind) => kind === "failed")).toHaveLength(1);
  expect(kinds).toHaveLength(12);
  expect(await (await openPlace(places)).list()).toHaveLength(3);
  expect(await (await openPlace(places)).verify()).toEqual([]);
  expect(await valueIn(places, undefined)).toBe(11);
});
