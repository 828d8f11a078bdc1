import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { int, open, PercolatorError, table } from "percolatordb";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { examineWriteLock } from "../../src/cli/doctor/locks.js";
import { systemEnvironment } from "../../src/environment/index.js";
import { lockHolder } from "../../src/store/lmdb/file/lock-holder.js";
import { ProgramProcess } from "../support/program-process.js";
import { until } from "../support/waiting.js";

const numbers = table("numbers", { value: int() });
const options = { tables: [numbers], collectEveryMs: 0 };

let base: string;
let number = 0;

beforeAll(async () => {
  base = await mkdtemp(join(tmpdir(), "percolatordb-held-"));
});

afterAll(async () => {
  await rm(base, { recursive: true, force: true });
});

/** A folder with one row. */
async function newFolder(): Promise<string> {
  const folder = join(base, `store-${++number}`);
  await using db = await open(folder, options);
  await db.transact(async (tx) => tx.set(numbers.value, "before", 1));
  return folder;
}

async function startHolder(folder: string): Promise<ProgramProcess> {
  const holder = new ProgramProcess("test/embedded/lock-holder.ts", [folder]);
  await holder.said((line) => line === "open");
  return holder;
}

async function hold(holder: ProgramProcess): Promise<void> {
  holder.tell("hold");
  await holder.said((line) => line === "held");
  expect(await until(() => holder.isStopped)).toBe(true);
}

async function letGo(holder: ProgramProcess): Promise<void> {
  const count = holder.lines.length;
  holder.signal("SIGCONT");
  await holder.said((line) => line === "done", count);
}

describe.skipIf(process.platform !== "linux")("a process that is stopped during a write", () => {
  it("delays no read, and delays writes, close and open only up to their time limit", async () => {
    const folder = await newFolder();
    const db = await open(folder, options);
    const holder = await startHolder(folder);
    try {
      await hold(holder);
      // The thread that holds the lock stops a moment after the process's other threads.
      expect(await until(() => lockHolder(folder, "write")?.isStopped === true)).toBe(true);
      expect(lockHolder(folder, "write")).toMatchObject({ process: holder.pid });
      expect(await db.transact((tx) => tx.get(numbers.value, "before"))).toBe(1);
      const write = (row: string, more: object) =>
        db.transact(async (tx) => tx.set(numbers.value, row, 2), more);
      await expect(write("timed out", { timeoutMs: 300 })).rejects.toMatchObject({ code: "TIMEOUT" });
      const signal = AbortSignal.timeout(300);
      await expect(write("aborted", { signal })).rejects.toBeInstanceOf(PercolatorError);
      expect(await db.transact((tx) => tx.get(numbers.value, "timed out"))).toBeUndefined();
      await db.close();
      await letGo(holder);
      await using after = await open(folder, options);
      // An aborted write is not applied later.
      await after.transact(async (tx) => tx.set(numbers.value, "after", 3));
      await after.transact(async (tx) => {
        expect(await tx.get(numbers.value, "timed out")).toBeUndefined();
        expect(await tx.get(numbers.value, "aborted")).toBeUndefined();
      });
      expect(await after.check()).toEqual([]);
    } finally {
      await holder.kill();
    }
  });

  it("does not stop others from opening, reading and closing the folder; their writes are done when it continues", async () => {
    const folder = await newFolder();
    const holder = await startHolder(folder);
    try {
      await hold(holder);
      const db = await open(folder, options);
      expect(await db.transact((tx) => tx.get(numbers.value, "before"))).toBe(1);
      expect((await db.status()).statistics.writeLockHeldByProcess).toBe(holder.pid);
      const holding = async () => ({ process: holder.pid, transactions: 1 });
      const finding = await examineWriteLock(systemEnvironment, holding, new AbortController().signal);
      expect(finding).toMatchObject({ state: "problem", what: expect.stringContaining(`${holder.pid}`) });
      const given = db.transact(async (tx) => tx.set(numbers.value, "given up", 2), { timeoutMs: 300 });
      await expect(given).rejects.toMatchObject({ code: "TIMEOUT" });
      const written = db.transact(async (tx) => tx.set(numbers.value, "written", 2));
      await letGo(holder);
      await written;
      expect(await db.transact((tx) => tx.get(numbers.value, "written"))).toBe(2);
      expect(await db.transact((tx) => tx.get(numbers.value, "given up"))).toBeUndefined();
      await db.close();

      // After a process is killed, another process can take its lock.
      await using reader = await open(folder, options);
      expect(await reader.check()).toEqual([]);
    } finally {
      await holder.kill();
    }
  });
});
