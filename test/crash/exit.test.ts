import { spawn } from "node:child_process";
import { once } from "node:events";
import { open, table, text } from "percolatordb";
import { describe, expect, test } from "vitest";
import { nodeArguments, root } from "../support/built/files.js";
import { temporaryFolder } from "../support/databases.js";
import { patienceMs, until } from "../support/waiting.js";

const log = table("log", { contents: text() });

interface Ended {
  readonly code: number | null;
  readonly signal: string | null;
  readonly errors: string;
}

const endsWithinMs = patienceMs / 2;

/** Runs exit-child.ts and waits until it ends, or until a time limit. */
async function run(folder: string, how: string): Promise<Ended> {
  const args = nodeArguments("test/crash/exit-child.ts", [folder, how]);
  const child = spawn(process.execPath, args, { cwd: root, stdio: ["ignore", "ignore", "pipe"] });
  let errors = "";
  child.stderr.on("data", (data: Buffer) => {
    errors += data.toString();
  });
  const closed = once(child, "close");
  const isOver = () => child.exitCode !== null || child.signalCode !== null;
  if (!(await until(isOver, endsWithinMs))) errors += "It did not end.";
  child.kill("SIGKILL");
  await closed;
  return { code: child.exitCode, signal: child.signalCode, errors };
}

describe("a process that ends while LMDB's write thread waits for it", () => {
  test.each([
    { how: "exit", says: "Close the database before you exit" },
    { how: "throw", says: "Nobody catches this" },
  ])(
    "ends and releases the write lock ($how)",
    async ({ how, says }) => {
      const folder = await temporaryFolder();
      try {
        const { signal, errors } = await run(folder.path, how);
        expect(errors).not.toContain("did not end");
        expect(errors).toContain(says);
        expect(signal).toBe("SIGKILL");
        await using db = await open(folder.path, { tables: [log] });
        await db.transact((tx) => tx.set(log.contents, "third", "done"));
        await using snapshot = await db.snapshot();
        expect(await snapshot.get(log.contents, "first")).toBe("done");
        expect(await db.check()).toEqual([]);
      } finally {
        await folder.remove();
      }
    },
    patienceMs,
  );

  test(
    "ends normally if the database was closed first",
    async () => {
      const folder = await temporaryFolder();
      expect(await run(folder.path, "closed")).toEqual({ code: 7, signal: null, errors: "" });
      await folder.remove();
    },
    patienceMs,
  );
});
