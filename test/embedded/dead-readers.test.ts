import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openLmdbStore } from "percolatordb/lmdb";
import { expect, test } from "vitest";
import { type Environment, systemEnvironment } from "../../src/environment/index.js";
import { ProgramProcess } from "../support/program-process.js";

/** The system environment, except that the test triggers the one-minute timer. */
function withMinutes() {
  let run: (() => void) | undefined;
  const environment: Environment = {
    ...systemEnvironment,
    setTimer(callback, delayMs, options) {
      if (delayMs !== 60_000) return systemEnvironment.setTimer(callback, delayMs, options);
      run = callback;
      return { cancel: () => undefined };
    },
  };
  return { environment, minute: () => run?.() };
}

test.each(["each minute", "when the end of a process is noticed"])(
  "the snapshot of a process that was killed while it read is released %s",
  async (when) => {
    const folder = await mkdtemp(join(tmpdir(), "percolatordb-readers-"));
    const { environment, minute } = withMinutes();
    const store = await openLmdbStore(folder, { environment });
    try {
      const value = Buffer.alloc(1 << 20);
      const column = Buffer.from("c");
      const overwrite = async (timestamp: number) => {
        const put = { type: "put", column, part: "data", timestamp: 1, value } as const;
        value.fill(timestamp);
        const mutation = { table: "t", row: Buffer.from("r"), guards: [], mutations: [put] };
        expect(await store.mutate(mutation)).toBe("applied");
      };
      const churn = async () => {
        for (let round = 0; round < 40; round++) await overwrite(round);
        return (await store.statistics()).pages!;
      };
      await churn();
      // Reads, and never ends its turn of the event loop.
      const reader = new ProgramProcess("test/embedded/endless-reader.ts", [folder]);
      await reader.said((line) => line === "reading");
      const before = await overwrite(99).then(() => store.statistics());
      reader.signal("SIGKILL");
      await reader.ended();
      if (when === "each minute") minute();
      else await store.clearDead!();
      // Reading statistics removes leftover readers and returns how many there were. By now there
      // must be none.
      const after = await store.statistics();
      expect(after.staleReadersCleared).toBe(0);
      expect(await churn()).toBeLessThan(before.pages! * 1.5);
    } finally {
      await store.close();
      await rm(folder, { recursive: true, force: true });
    }
  },
);
