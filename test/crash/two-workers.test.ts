import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { type Database, open } from "percolatordb";
import { expect, test } from "vitest";
import { nodeArguments, root } from "../support/built/files.js";
import { temporaryFolder } from "../support/databases.js";
import { documents } from "./worker-app.js";

const rows = 400;
/** The most batches to load until both processes have worked. */
const maxBatches = 20;

async function startWorker(folder: string): Promise<ChildProcess> {
  const child = spawn(process.execPath, nodeArguments("test/crash/worker-child.ts", [folder]), {
    cwd: root,
    stdio: ["pipe", "pipe", "inherit"],
  });
  await once(child.stdout!, "data");
  return child;
}

async function write(db: Database, contents: (index: number) => string): Promise<void> {
  for (let index = 0; index < rows; index++) {
    await db.transact((tx) => tx.set(documents.contents, `row${index}`, contents(index)));
  }
}

async function isDone(db: Database): Promise<boolean> {
  for await (const _ of db.pending()) return false;
  return true;
}

async function untilDone(db: Database): Promise<void> {
  while (!(await isDone(db))) await new Promise((resolve) => setTimeout(resolve, 20));
}

test("two processes share the work and handle each change once; if one is killed, the other takes its share", async () => {
  const folder = await temporaryFolder();
  const children: ChildProcess[] = [];
  try {
    for (let count = 0; count < 2; count++) children.push(await startWorker(folder.path));
    await using db = await open(folder.path);
    // The machine may give a process little time at first. So this continues until both have
    // worked.
    const doneBy = new Set<number>();
    let batches = 0;
    while (doneBy.size < 2) {
      expect(batches++).toBeLessThan(maxBatches);
      await write(db, (index) => "x".repeat(index + batches - 1));
      await untilDone(db);
      await using first = await db.snapshot();
      let done = 0;
      for await (const { row, value } of first.scan(documents)) {
        expect(value.length, row).toBe(value.contents?.length);
        // One committed run for each change, by either process.
        expect(value.runs, row).toBe(batches);
        doneBy.add(value.doneBy!);
        done++;
      }
      expect(done).toBe(rows);
    }
    expect([...doneBy].sort()).toEqual(children.map((child) => child.pid).sort());
    await write(db, (index) => "y".repeat(index + 1));
    const [victim, survivor] = children as [ChildProcess, ChildProcess];
    victim.kill("SIGKILL");
    await once(victim, "exit");
    await untilDone(db);
    await using last = await db.snapshot();
    let seen = 0;
    for await (const { row, value } of last.scan(documents)) {
      expect(value.length, row).toBe(value.contents?.length);
      expect(value.runs, row).toBeLessThanOrEqual(batches + 1);
      seen++;
    }
    expect(seen).toBe(rows);
    expect(await db.check()).toEqual([]);
    const exited = once(survivor, "exit");
    survivor.stdin!.end();
    expect((await exited)[0]).toBe(0);
  } finally {
    for (const child of children) child.kill("SIGKILL");
    await folder.remove();
  }
}, 300_000);
