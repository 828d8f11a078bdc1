/**
 * Backs a folder up into a small file system until that is full. Prints what happened as JSON.
 * Arguments: the folder of the database, the mount point, and `full`, `compact`, `denied` or `hold`.
 */
import { randomBytes } from "node:crypto";
import { existsSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { open } from "percolatordb";
import { backup, compact, followBackup, listBackups, restore, verifyBackups } from "percolatordb/backup";
import { items, tables } from "./load.js";

const [data, disk, role] = process.argv.slice(2) as [string, string, string];
const place = join(disk, "backups");

async function fill(from: number, count: number): Promise<void> {
  await using db = await open(data, { tables, collectEveryMs: 0 });
  for (let row = from; row < from + count; row++) {
    await db.transact((tx) => tx.set(items.note, `row${row}`, randomBytes(30_000).toString("base64")));
  }
}

const failureOf = (made: Promise<unknown>) =>
  made.then(
    () => "none",
    (error: unknown) => (error as { readonly code?: string }).code ?? String(error),
  );

const freeBytes = () => {
  const { bavail, bsize } = statfsSync(disk);
  return bavail * bsize;
};

async function names(): Promise<readonly string[]> {
  const found: string[] = [];
  for await (const { name } of listBackups(place)) found.push(name);
  return found;
}

async function full(): Promise<object> {
  await fill(0, 20);
  const first = await backup(data, place);
  await fill(20, 200);
  const before = freeBytes();
  const failures = [await failureOf(backup(data, place)), await failureOf(backup(data, place))];
  const lost = before - freeBytes();
  const afterFailure = { names: await names(), problems: (await verifyBackups(place)).problems };
  const restored = await failureOf(restore(place, join(disk, "restored"), { at: first.timestamp }));
  // A restore of the small backup fits beside it only if nothing else is there.
  writeFileSync(join(disk, "ballast"), Buffer.alloc(freeBytes()));
  const restoredFull = await failureOf(restore(place, join(disk, "again"), { at: first.timestamp }));
  rmSync(join(disk, "ballast"));
  rmSync(join(disk, "restored"), { recursive: true, force: true });
  return { first: first.name, failures, lost, afterFailure, restored, restoredFull, kept: await names() };
}

/** Compacts into the small file system, with less and less room. */
async function compacted(): Promise<object> {
  await fill(0, 30);
  const into = join(disk, "compacted");
  const failures: string[] = [];
  const ballast = join(disk, "ballast");
  for (const room of [0, 30_000, 500_000, 1_000_000]) {
    writeFileSync(ballast, Buffer.alloc(Math.max(0, freeBytes() - room)));
    failures.push(await failureOf(compact(data, into)), existsSync(into) ? "something is left" : "");
    rmSync(ballast);
  }
  return { failures, afterwards: await failureOf(compact(data, into)) };
}

async function denied(): Promise<object> {
  return {
    backup: await failureOf(backup(data, place)),
    restore: await failureOf(restore(place, join(disk, "restored"))),
    names: (await names()).length,
    problems: (await verifyBackups(place)).problems,
  };
}

async function hold(): Promise<void> {
  for await (const { kind } of followBackup(data, place, { everyMs: 100 })) process.stdout.write(`${kind}\n`);
}

const roles: Readonly<Record<string, () => Promise<object>>> = { full, compact: compacted, denied };

if (role === "hold") await hold();
else process.stdout.write(`${JSON.stringify(await roles[role]!())}\n`);
