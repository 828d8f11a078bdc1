import { once } from "node:events";
import { readFileSync, statSync } from "node:fs";
import { mkdtemp, rename, rm, symlink } from "node:fs/promises";
import { platform, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";
import { afterEach, beforeEach, expect, it } from "vitest";
import { openLmdbStore } from "../index.js";
import { lockHolder } from "./lock-holder.js";

let path: string;

beforeEach(async () => {
  path = await mkdtemp(join(tmpdir(), "percolatordb-holder-"));
});

afterEach(() => rm(path, { recursive: true }));

/** How many locks the system has on the folder's lock file. */
function locksOn(folder: string): number {
  const { ino } = statSync(join(folder, "lock.mdb"));
  return readFileSync("/proc/locks", "utf8").split(`:${ino} `).length - 1;
}

it.skipIf(platform() !== "linux").each([
  { folder: "a line\nbreak", where: "whose name has a line break" },
  { folder: "moved", where: "that was moved, with a link in its place" },
])("a look at the lock file of a folder $where releases none of this process's locks", async ({ folder }) => {
  const data = join(path, folder);
  const store = await openLmdbStore(data);
  try {
    if (folder === "moved") {
      await rename(data, join(path, "elsewhere"));
      await symlink(join(path, "elsewhere"), data);
    }
    const before = locksOn(data);
    expect(before).toBeGreaterThan(0);
    expect(lockHolder(data, "write")).toBeUndefined();
    expect(locksOn(data)).toBe(before);
  } finally {
    await store.close();
  }
});

it.skipIf(platform() !== "linux")(
  "a thread that has written the number of the last transaction releases none of this process's locks at its end",
  async () => {
    const store = await openLmdbStore(path);
    try {
      const pinned = store.pages!.pin();
      pinned.release();
      const before = locksOn(path);
      const thread = new Worker(
        `const { workerData } = require("node:worker_threads"); require("tsx/cjs"); require(workerData.module).setLastTransaction(workerData.path, workerData.transaction)`,
        {
          eval: true,
          workerData: {
            module: fileURLToPath(new URL("./lock-file.ts", import.meta.url)),
            path,
            transaction: pinned.transaction,
          },
        },
      );
      await once(thread, "exit");
      expect(locksOn(path)).toBe(before);
    } finally {
      await store.close();
    }
  },
);
