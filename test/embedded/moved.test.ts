import { copyFile, mkdtemp, rename, rm, unlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { int, open, StoreMovedError, table } from "percolatordb";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const numbers = table("numbers", { value: int() });

let base: string;
let number = 0;

beforeAll(async () => {
  base = await mkdtemp(join(tmpdir(), "percolatordb-moved-"));
});

afterAll(async () => {
  await rm(base, { recursive: true, force: true });
});

/** What an operator or a clean-up job may do to the files of a running process. */
const faults: Readonly<Record<string, (folder: string) => Promise<void>>> = {
  "lock.mdb is deleted": (folder) => unlink(join(folder, "lock.mdb")),
  "lock.mdb is deleted and made again by another process": async (folder) => {
    await unlink(join(folder, "lock.mdb"));
    await copyFile(join(folder, "data.mdb"), join(folder, "lock.mdb"));
  },
  "data.mdb is deleted": (folder) => unlink(join(folder, "data.mdb")),
  "data.mdb is renamed": (folder) => rename(join(folder, "data.mdb"), join(folder, "old.mdb")),
  "data.mdb is replaced by a copy": async (folder) => {
    await copyFile(join(folder, "data.mdb"), join(folder, "copy.mdb"));
    await rename(join(folder, "copy.mdb"), join(folder, "data.mdb"));
  },
  "the folder is deleted": (folder) => rm(folder, { recursive: true }),
  "the folder is renamed": (folder) => rename(folder, `${folder}-old`),
};

describe.skipIf(process.platform === "win32")("files that are moved while a process uses them", () => {
  it.each(Object.entries(faults))("%s: no write is confirmed, and the error says why", async (_, strike) => {
    const folder = join(base, `store-${++number}`);
    const db = await open(folder, { tables: [numbers], durability: "none", collectEveryMs: 0 });
    await db.transact(async (tx) => tx.set(numbers.value, "before", 1));
    await strike(folder);
    const writes = await Promise.allSettled(
      Array.from({ length: 50 }, (_, i) => db.transact(async (tx) => tx.set(numbers.value, `${i}`, i))),
    );
    for (const write of writes) {
      expect(write.status).toBe("rejected");
      expect((write as PromiseRejectedResult).reason).toBeInstanceOf(StoreMovedError);
    }
    await expect(db.close()).resolves.toBeUndefined();
  });

  it("no running write is confirmed after a file is gone", async () => {
    const folder = join(base, `store-${++number}`);
    const db = await open(folder, { tables: [numbers], collectEveryMs: 0 });
    let committed = 0;
    let isGone = false;
    const wrong: number[] = [];
    const writers = Array.from({ length: 20 }, async (_, writer) => {
      for (;;) {
        try {
          await db.transact(async (tx) => tx.set(numbers.value, `${writer}`, committed));
        } catch {
          return;
        }
        if (isGone) wrong.push(writer);
        committed++;
      }
    });
    while (committed < 100) await new Promise((resolve) => setImmediate(resolve));
    const unlinked = unlink(join(folder, "lock.mdb"));
    await unlinked;
    // Answers that the database gave before may still be on their way to their callers.
    await new Promise((resolve) => setImmediate(resolve));
    isGone = true;
    await Promise.all(writers);
    expect(wrong).toEqual([]);
    await db.close();
  });

  it("reads end too, after at most a second", async () => {
    const folder = join(base, `store-${++number}`);
    const db = await open(folder, { tables: [numbers], collectEveryMs: 0 });
    const read = () => db.transact((tx) => tx.get(numbers.value, "row"));
    await read();
    await rename(join(folder, "data.mdb"), join(folder, "old.mdb"));
    await expect
      .poll(() =>
        read().then(
          () => "read",
          (error) => error.code,
        ),
      )
      .toBe("STORE_MOVED");
    await db.close();
  });
});
