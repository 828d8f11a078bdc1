import { type Database, open } from "percolatordb";
import { expect, test } from "vitest";
import { Random } from "../crash/random.js";
import { temporaryFolder } from "../support/databases.js";
import { ProgramProcess } from "../support/program-process.js";
import { until } from "../support/waiting.js";
import { emails, users } from "./killed.js";
import { people1, people2 } from "./people.js";

/** Passes through a table whose process is killed at random pages, until one reaches the end. */

const child = "test/evolution/killed-child.ts";
const rows = 3_000;
const rowOf = (index: number) => `r${String(index).padStart(5, "0")}`;

interface Ran {
  readonly kills: number;
  readonly report: { readonly continued: boolean; readonly changed?: number; readonly added?: number };
}

/** Runs the child again and again. Kills it after a random number of pages, at most four times. */
async function runWithKills(role: string, folder: string, random: Random): Promise<Ran> {
  for (let kills = 0; ; ) {
    const running = new ProgramProcess(child, [role, folder]);
    const pages = kills < 4 ? 1 + random.below(4) : Number.POSITIVE_INFINITY;
    await until(() => running.lines.length > pages || running.hasEnded);
    running.signal("SIGKILL");
    await running.ended();
    const last = running.lines.findLast((line) => line.startsWith("done "));
    if (last !== undefined) return { kills, report: JSON.parse(last.slice(5)) as Ran["report"] };
    expect(running.end, running.errors).toBe("SIGKILL");
    kills++;
  }
}

async function filled(folder: string, fill: (db: Database, from: number) => Promise<unknown>): Promise<void> {
  await using db = await open(folder);
  for (let from = 0; from < rows; from += 500) await fill(db, from);
}

test("a migration that is killed again and again continues, and rewrites everything once", async () => {
  const { path, remove } = await temporaryFolder();
  await filled(path, (db, from) =>
    db.transact((tx) => {
      for (let i = from; i < from + 500; i++) tx.set(people1.who, rowOf(i), { name: `N${i} L${i}` });
    }),
  );
  const { kills, report } = await runWithKills("migrate", path, new Random("migrate"));
  expect(kills).toBeGreaterThan(0);
  expect(report.continued).toBe(true);
  await using db = await open(path);
  expect(await db.migrate([people2], { check: true })).toMatchObject([{ changed: 0, scanned: rows }]);
  await using snapshot = await db.snapshot();
  for (const i of [0, 255, 256, 1_000, rows - 1]) {
    expect(await snapshot.get(people2.who, rowOf(i))).toEqual({ first: `N${i}`, last: `L${i}` });
  }
  expect(await db.check()).toEqual([]);
  await remove();
}, 180_000);

test("a rebuild that is killed again and again continues, and equals its batch twin", async () => {
  const { path, remove } = await temporaryFolder();
  const [before, after] = [emails((email) => email), emails((email) => email.toLowerCase())];
  const emailOf = (i: number) => `User${i % 2_900}@X${i}`;
  await filled(path, (db, from) =>
    db.transact(async (tx) => {
      for (let i = from; i < from + 500; i++) await before.set(tx, rowOf(i), emailOf(i));
    }),
  );
  const { kills, report } = await runWithKills("rebuild", path, new Random("rebuild"));
  expect(kills).toBeGreaterThan(0);
  expect(report).toMatchObject({ continued: true, added: rows, removed: rows, duplicates: 0 });
  await using db = await open(path);
  await using snapshot = await db.snapshot();
  const owners = new Map<string, string>();
  for await (const { row, value } of snapshot.scan(after.table)) {
    owners.set(String(row), (value as { owner: string }).owner);
  }
  const twin = new Map<string, string>();
  for await (const { row, value } of snapshot.scan(users.email)) twin.set(value.toLowerCase(), row);
  expect([...owners].sort()).toEqual([...twin].sort());
  expect(await db.check()).toEqual([]);
  // The record is gone, so a rebuild of the same name begins at the first row.
  expect(await after.rebuild(db, { resume: "any case" })).toMatchObject({ continued: false, added: 0 });
  await remove();
}, 180_000);
