import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { int, open, StoreBusyError, table } from "percolatordb";
import { expect, test } from "vitest";
import { ProgramProcess } from "../support/program-process.js";

const numbers = table("numbers", { value: int() });

test.skipIf(process.platform !== "linux")(
  "a write that nobody gives up ends after 10 s, and the error names who holds the lock",
  async () => {
    const folder = await mkdtemp(join(tmpdir(), "percolatordb-held-"));
    const db = await open(folder, { tables: [numbers], collectEveryMs: 0 });
    await db.transact(async (tx) => tx.set(numbers.value, "before", 1));
    const holder = new ProgramProcess("test/embedded/lock-holder.ts", [folder]);
    try {
      await holder.said((line) => line === "open");
      holder.tell("hold");
      await holder.said((line) => line === "held");
      const error = await db
        .transact(async (tx) => tx.set(numbers.value, "row", 2))
        .catch((thrown) => thrown);
      expect(error).toBeInstanceOf(StoreBusyError);
      expect(error).toMatchObject({ process: holder.pid });
      expect(error.heldMs).toBeGreaterThanOrEqual(10_000);
      expect(error.message).toContain(`kill -CONT ${holder.pid}`);
      await holder.kill();
      // The dead one's lock is taken over, and what was given up is not written.
      await db.transact(async (tx) => tx.set(numbers.value, "after", 3));
      expect(await db.transact((tx) => tx.get(numbers.value, "row"))).toBeUndefined();
      await db.close();
    } finally {
      await holder.kill();
      await rm(folder, { recursive: true, force: true });
    }
  },
);
