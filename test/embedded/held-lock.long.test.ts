import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { int, open, StoreBusyError, table } from "percolatordb";
import { expect, test } from "vitest";
import { ProgramProcess } from "../support/program-process.js";
import { until } from "../support/waiting.js";
import { Command } from "../workers/command.js";

const numbers = table("numbers", { value: int() });

test.skipIf(process.platform !== "linux")(
  "a write without a signal ends after 10 s, and the error names the process that holds the lock",
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
      // The lock of the dead process is taken over, and the aborted write is not done.
      await db.transact(async (tx) => tx.set(numbers.value, "after", 3));
      expect(await db.transact((tx) => tx.get(numbers.value, "row"))).toBeUndefined();
      await db.close();
    } finally {
      await holder.kill();
      await rm(folder, { recursive: true, force: true });
    }
  },
);

test.skipIf(process.platform !== "linux")(
  "a command that opens the folder waits as long, names the process that holds the lock, and exits with 1",
  async () => {
    const folder = await mkdtemp(join(tmpdir(), "percolatordb-held-"));
    const holder = new ProgramProcess("test/embedded/lock-holder.ts", [folder]);
    try {
      await using db = await open(folder, { tables: [numbers], collectEveryMs: 0 });
      await db.transact(async (tx) => tx.set(numbers.value, "before", 1));
      await holder.said((line) => line === "open");
      holder.tell("hold");
      await holder.said((line) => line === "held");
      expect(await until(() => holder.isStopped)).toBe(true);
      const command = new Command(["set", folder, "numbers.value", "row", "2", "--json"]);
      expect({ code: await command.ended, errors: command.errors }).toEqual({
        code: 1,
        errors: expect.stringContaining(`kill -CONT ${holder.pid}`),
      });
      expect(JSON.parse(command.errors)).toMatchObject({ error: { code: "STORE_BUSY" } });
    } finally {
      await holder.kill();
      await rm(folder, { recursive: true, force: true });
    }
  },
  60_000,
);
