import { mkdir, readdir } from "node:fs/promises";
import {
  BackupBusyError,
  BackupError,
  BackupFullError,
  type BackupReport,
  type BackupSummary,
  backup,
  followBackup,
  listBackups,
  restore,
  verifyBackups,
} from "percolatordb/backup";
import { expect, expectTypeOf, test } from "vitest";
import { onSmallDisk } from "../crash/small-disk.js";
import { shellCommand } from "../support/built/files.js";
import { ProgramProcess } from "../support/program-process.js";
import { until } from "../support/waiting.js";
import { items } from "./load.js";
import { Places } from "./restored.js";

/** What the calls of `percolatordb/backup` do if the place is full, denied or in use. */

const child = "test/backup/full-place-child.ts";
const command = (...args: readonly string[]) => shellCommand(child, args);

test("a database is backed up, listed, verified and restored by functions", async () => {
  await using places = await Places.make();
  await using db = await places.openData();
  await db.transact((tx) => tx.set(items.value, "a", 1));
  const report = await backup(places.data, places.backups, { keep: 3 });
  expectTypeOf(report).toEqualTypeOf<BackupReport>();
  expect(report.kind).toBe("full");
  const kinds: string[] = [];
  for await (const done of followBackup(places.data, places.backups, { everyMs: 100 })) {
    kinds.push(done.kind);
    if (done.kind === "changes") break;
    await db.transact((tx) => tx.set(items.value, "a", 2));
  }
  expect(kinds).toEqual(["unchanged", "changes"]);
  const listed: BackupSummary[] = [];
  for await (const each of listBackups(places.backups)) listed.push(each);
  expect(listed.map(({ takenAt }) => takenAt)).toEqual([expect.any(Number), report.takenAt]);
  expect(await verifyBackups(places.backups)).toEqual({ backups: 2, problems: [] });
  const restored = await restore(places.backups, places.path("new"), { at: report.timestamp });
  expect(restored).toMatchObject({ name: report.name, nextTakenAt: listed[0]!.takenAt });
  // The loop that was left has released the place.
  expect(await readdir(places.backups)).not.toContain("lock.json");
});

test("an aborted signal ends a list, a check and a restore", async () => {
  await using places = await Places.make();
  await using db = await places.openData();
  for (let i = 0; i < 3; i++) {
    await db.transact((tx) => tx.set(items.value, "a", i));
    await backup(places.data, places.backups);
  }
  const aborted = { code: "ABORTED" };
  const signal = AbortSignal.abort();
  await expect(listBackups(places.backups, { signal }).next()).rejects.toMatchObject(aborted);
  await expect(verifyBackups(places.backups, { signal })).rejects.toMatchObject(aborted);
  const earliest = restore(places.backups, places.path("new"), { at: 1, signal });
  await expect(earliest).rejects.toMatchObject(aborted);
  const controller = new AbortController();
  const list = listBackups(places.backups, { signal: controller.signal });
  expect(await list.next()).toMatchObject({ done: false });
  controller.abort();
  await expect(list.next()).rejects.toMatchObject(aborted);
});

test("wrong options are refused before anything happens", async () => {
  await using places = await Places.make();
  await using _db = await places.openData();
  const { data, backups } = places;
  await expect(backup(data, backups, { keep: 0 })).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
  await expect(backup(data, backups, { keepForMs: Number.NaN })).rejects.toThrow(/keepForMs/);
  await expect(followBackup(data, backups, { everyMs: 10 }).next()).rejects.toThrow(/at least 100/);
  await expect(backup(data, backups, { kep: 1 } as never)).rejects.toThrow(/has no option `kep`/);
  await expect(restore(backups, data, { att: 1 } as never)).rejects.toThrow(/has no option `att`/);
  await expect(listBackups(backups, { keep: 1 } as never).next()).rejects.toThrow(/has no option `keep`/);
  await expect(verifyBackups(backups, { keep: 1 } as never)).rejects.toThrow(/has no option `keep`/);
  await expect(readdir(backups)).rejects.toThrow("ENOENT");
});

/** Runs a role of the child on a file system of 5 MB, and returns what it printed. */
async function ranOnSmallDisk(role: string): Promise<object> {
  await using places = await Places.make();
  const disk = places.path("disk");
  await mkdir(disk);
  const { status, stdout, stderr } = await onSmallDisk(
    "5m",
    disk,
    `exec ${command(places.data, disk, role)}`,
  );
  expect(stderr).toBe("");
  expect(status).toBe(0);
  return JSON.parse(stdout) as object;
}

test("on a full file system a backup fails with a named error, and leaves the earlier one and its space", async () => {
  const found = (await ranOnSmallDisk("full")) as { readonly first: string; readonly lost: number };
  expect(found).toMatchObject({
    failures: ["BACKUP_FULL", "BACKUP_FULL"],
    afterFailure: { names: [found.first], problems: [] },
    restored: "none",
    restoredFull: "BACKUP_FULL",
    kept: [found.first],
  });
  // The lock, and the page of a folder.
  expect(found.lost).toBeLessThan(20_000);
}, 120_000);

test("a compaction into a full file system fails with a named error, and leaves nothing", async () => {
  const { failures, afterwards } = (await ranOnSmallDisk("compact")) as {
    readonly failures: readonly string[];
    readonly afterwards: string;
  };
  expect(failures).toHaveLength(8);
  // The first is that of a folder that cannot be made.
  expect(failures.filter((_, at) => at % 2 === 0)).toEqual([
    expect.stringMatching(/^(BACKUP|STORE)_FULL$/),
    "STORE_FULL",
    "STORE_FULL",
    "STORE_FULL",
  ]);
  expect(failures.filter((_, at) => at % 2 === 1)).toEqual(["", "", "", ""]);
  expect(afterwards).toBe("none");
}, 120_000);

test("a read-only place is refused with a named error, and can be listed and verified", async () => {
  await using places = await Places.make();
  const disk = places.path("disk");
  await mkdir(disk);
  const steps = [
    `${command(places.data, disk, "full")} > /dev/null`,
    `mount -o remount,ro "${disk}"`,
    `exec ${command(places.data, disk, "denied")}`,
  ];
  const { status, stdout, stderr } = await onSmallDisk("5m", disk, steps.join("\n"));
  expect(stderr).toBe("");
  expect(status).toBe(0);
  expect(JSON.parse(stdout)).toEqual({
    backup: "BACKUP_ACCESS",
    restore: "BACKUP_ACCESS",
    names: 1,
    problems: [],
  });
}, 120_000);

test("a place that another process uses is refused, until that process is killed", async () => {
  await using places = await Places.make();
  await using db = await places.openData();
  await db.transact((tx) => tx.set(items.value, "a", 1));
  const holder = new ProgramProcess(child, [places.data, places.path(""), "hold"]);
  const refused = await until(() => holder.lines.length > 0 || holder.hasEnded).then(() =>
    backup(places.data, places.backups).catch((error: unknown) => error),
  );
  expect(refused).toBeInstanceOf(BackupBusyError);
  expect(refused).toBeInstanceOf(BackupError);
  expect(refused).not.toBeInstanceOf(BackupFullError);
  await holder.kill();
  expect(await backup(places.data, places.backups)).toMatchObject({ kind: "unchanged" });
});
