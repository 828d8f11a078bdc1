import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { type Database, open } from "percolatordb";
import { expect, test } from "vitest";
import { nodeArguments } from "../support/built/files.js";
import { temporaryFolder } from "../support/databases.js";
import { pages } from "./killer-app.js";

const root = fileURLToPath(new URL("../../", import.meta.url));
/**
 * Five attempts, and two deaths that do not use up an attempt: the first one, and one that was
 * detected late.
 */
const maxDeaths = 7;

function startWorker(folder: string): ChildProcess {
  return spawn(process.execPath, nodeArguments("test/crash/killer-child.ts", [folder]), {
    cwd: root,
    stdio: ["pipe", "inherit", "inherit"],
  });
}

async function countParked(db: Database): Promise<number> {
  let count = 0;
  for await (const { row } of db.parked()) {
    expect(row).toBe("poison");
    count++;
  }
  return count;
}

test.each([300, 1_000])(
  "a cell that kills its process, and is written every %i ms, is parked after its attempts",
  { timeout: 300_000 },
  async (everyMs) => {
    const folder = await temporaryFolder();
    let child: ChildProcess | undefined;
    let deaths = 0;
    let isOver = false;
    try {
      await using db = await open(folder.path);
      let writes = 0;
      const write = async () => {
        while (!isOver) {
          const html = `version ${++writes}`;
          await db.transact((tx) => tx.set(pages.html, "poison", html));
          await sleep(everyMs);
        }
      };
      // The first worker registers the observer. Writes leave hints only after that.
      const work = async () => {
        while (!isOver) {
          child = startWorker(folder.path);
          const [, signal] = await once(child, "exit");
          if (signal === "SIGKILL") deaths++;
          expect(deaths).toBeLessThanOrEqual(maxDeaths);
        }
      };
      const writing = write();
      const working = work();
      const parked = async () => {
        while ((await countParked(db)) === 0) await sleep(100);
      };
      await Promise.race([parked(), working, writing]);
      expect(await countParked(db)).toBe(1);
      // The worker that parked the cell handles everything else, however often that cell is
      // written.
      const deathsBefore = deaths;
      for (let count = 1; count <= 10; count++) {
        const html = `other ${count}`;
        await db.transact((tx) => tx.set(pages.html, "other", html));
        while ((await db.transact((tx) => tx.get(pages.seen, "other"))) !== html) await sleep(50);
      }
      expect(deaths).toBe(deathsBefore);
      isOver = true;
      child!.stdin!.end();
      await Promise.all([writing, working]);
    } finally {
      isOver = true;
      child?.kill("SIGKILL");
      await folder.remove();
    }
  },
);
