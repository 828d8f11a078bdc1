import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Database, open } from "percolatordb";
import { afterEach, expect, test, vi } from "vitest";
import { temporaryFolder } from "../support/databases.js";
import { isRunning } from "../support/running.js";
import { patienceMs } from "../support/waiting.js";
import { documents, waitsFor } from "./app.js";
import { Command } from "./command.js";

const app = fileURLToPath(new URL("./app.ts", import.meta.url));
const commands: Command[] = [];
const removals: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const command of commands.splice(0)) {
    command.signal("SIGKILL");
    await command.ended;
  }
  for (const remove of removals.splice(0)) await remove();
});

async function start(...args: string[]): Promise<{ command: Command; path: string }> {
  const folder = await temporaryFolder();
  removals.push(folder.remove);
  const command = new Command(["worker", folder.path, app, "--json", ...args]);
  commands.push(command);
  return { command, path: folder.path };
}

async function write(db: Database, count: number, contents: (index: number) => string): Promise<void> {
  for (let from = 0; from < count; from += 50) {
    await db.transact((tx) => {
      for (let index = from; index < Math.min(count, from + 50); index++)
        tx.set(documents.contents, `row${index}`, contents(index));
    });
  }
}

async function rowsOf(db: Database) {
  await using snapshot = await db.snapshot();
  const rows: { doneBy: number | undefined; runs: number | undefined; isRight: boolean }[] = [];
  for await (const { value } of snapshot.scan(documents)) {
    rows.push({ doneBy: value.doneBy, runs: value.runs, isRight: value.length === value.contents?.length });
  }
  return rows;
}

const started = (count: number) => (command: Command) => command.events("started").length >= count;

test("several processes share the work; one that is killed is replaced, and its work is done within seconds", async () => {
  const { command, path } = await start("--processes", "3", "--concurrency", "4", "--coordinator", "auto");
  await command.until(started(3));
  await using db = await open(path);
  // The machine may give a process little time at first. So this continues until all have worked.
  const seen = new Set<number>();
  let batches = 0;
  while (seen.size < 3) {
    expect(batches++).toBeLessThan(20);
    await write(db, 300, (index) => "x".repeat(index + batches));
    await db.idle();
    const rows = await rowsOf(db);
    expect(rows.filter(({ isRight, runs }) => isRight && runs === batches)).toHaveLength(300);
    for (const { doneBy } of rows) seen.add(doneBy!);
  }
  const pids = [...seen];
  await pidsOf(db, 3);
  await write(db, 300, (index) => "y".repeat(index + 1));
  process.kill(pids[0]!, "SIGKILL");
  const killedAt = performance.now();
  await db.idle();
  // Without a takeover, `idle` would never resolve. The limit is long, because the machine may be
  // slow.
  expect(performance.now() - killedAt).toBeLessThan(patienceMs);
  await command.until(started(4));
  const second = await rowsOf(db);
  expect(second.filter(({ isRight, runs }) => isRight && runs! <= batches + 1)).toHaveLength(300);
  expect(command.events("exited")).toEqual([
    expect.objectContaining({ signal: "SIGKILL", code: null, restartInMs: expect.any(Number) }),
  ]);
  command.signal("SIGTERM");
  expect(await command.ended).toBe(0);
  expect(command.told.at(-1)).toMatchObject({ event: "stopped", processes: 3, restarts: 1 });
  expect(command.events("stopped").map((each) => each.process)).toEqual(
    expect.arrayContaining([1, 2, 3, undefined]),
  );
  expect(pids.filter(isRunning)).toEqual([]);
  expect(await db.check()).toEqual([]);
});

test("an observer that ends its process is detected and parked, and everything else is done", async () => {
  const { command, path } = await start("--processes", "2");
  await command.until(started(2));
  await using db = await open(path);
  await write(db, 40, (index) => (index === 7 ? "ends its process" : "fine"));
  await command.until((each) => each.events("parked").length > 0);
  await db.idle();
  const rows = await rowsOf(db);
  expect(rows.filter(({ isRight }) => isRight)).toHaveLength(39);
  const parked = [];
  for await (const change of db.parked()) parked.push(change.row);
  expect(parked).toEqual(["row7"]);
  // The workers also end if the process that started them is gone.
  const pids = await pidsOf(db, 2);
  command.signal("SIGKILL");
  await command.ended;
  await vi.waitFor(() => expect(pids.filter(isRunning)).toEqual([]), { timeout: patienceMs });
});

/** Waits until `count` processes work on the database, and returns their ids. */
function pidsOf(db: Database, count: number): Promise<readonly number[]> {
  const look = async () => {
    const sessions = [...(await db.status()).sessions.values()];
    const pids = sessions.map(({ process: name }) => Number(name.slice(name.lastIndexOf("/") + 1)));
    expect(pids).toHaveLength(count);
    return pids;
  };
  return vi.waitFor(look, { timeout: patienceMs });
}

async function firstPending(db: Database) {
  for await (const change of db.pending()) return change;
  return undefined;
}

test("running observers finish after a signal; a second signal ends everything at once", async () => {
  const { command, path } = await start("--processes", "1");
  await command.until(started(1));
  await using db = await open(path);
  const release = join(path, "release");
  await write(db, 1, () => waitsFor(release));
  await vi.waitFor(async () => expect((await firstPending(db))?.attempts).toBe(1), { timeout: patienceMs });
  command.signal("SIGTERM");
  await command.until((each) => each.events("stopping").length === 1);
  await writeFile(release, "");
  expect(await command.ended).toBe(0);
  expect(await rowsOf(db)).toMatchObject([{ isRight: true, runs: 1 }]);
  const again = new Command(["worker", path, app, "--json", "--processes", "1"]);
  commands.push(again);
  await again.until(started(1));
  const [pid] = await pidsOf(db, 1);
  await write(db, 1, () => waitsFor(join(path, "never")));
  await vi.waitFor(async () => expect((await firstPending(db))?.attempts).toBe(1), { timeout: patienceMs });
  again.signal("SIGTERM");
  await again.until((each) => each.events("stopping").length === 1);
  again.signal("SIGTERM");
  expect(await again.ended).toBe(143);
  await vi.waitFor(() => expect(isRunning(pid!)).toBe(false), { timeout: patienceMs });
});
