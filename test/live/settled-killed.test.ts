import { open } from "percolatordb";
import { expect, test } from "vitest";
import { temporaryFolder } from "../support/databases.js";
import { ProgramProcess } from "../support/program-process.js";
import { cells, commit, read } from "../support/settling.js";
import { pause } from "../support/waiting.js";

const script = "test/live/settled-worker-child.ts";
const rows = 40;

async function startWorker(folder: string): Promise<ProgramProcess> {
  const child = new ProgramProcess(script, [folder]);
  await child.said((line) => line === "ready");
  return child;
}

test("settles although the process of the worker is killed in the middle, once another one has taken over", async () => {
  const folder = await temporaryFolder();
  const children: ProgramProcess[] = [];
  try {
    children.push(await startWorker(folder.path));
    await using db = await open(folder.path, { tables: [cells] });
    let resolved = 0;
    const waiting: Promise<void>[] = [];
    for (let row = 0; row < rows; row++) {
      const each = await commit(db, (tx) => tx.set(cells.a, `${row}`, row));
      const settled = db.settled(each).then(async () => {
        expect(await read(db, cells.d, `${row}`)).toBe(row);
        resolved++;
      });
      waiting.push(settled);
    }
    const all = Promise.all(waiting);
    all.catch(() => undefined);
    while ((await read(db, cells.c, "0")) === undefined) await pause(5);
    await children[0]!.kill();
    children.push(await startWorker(folder.path));
    await all;
    expect(resolved).toBe(rows);
    expect(await db.check()).toEqual([]);
  } finally {
    for (const child of children) await child.kill();
    await folder.remove();
  }
});
