import { open } from "percolatordb";
import { expect, it } from "vitest";
import { temporaryFolder } from "../support/databases.js";
import { ProgramProcess } from "../support/program-process.js";
import { counted } from "./opening-tables.js";

it.each([
  { how: "opens and closes the database", child: "database", times: 300 },
  { how: "opens and closes the files as others do", child: "lmdb", times: 1_500 },
  { how: "sets the last transaction back", child: "set back", times: 300 },
])("no commit is lost while another process $how", async ({ child, times }) => {
  const folder = await temporaryFolder();
  try {
    await using db = await open(folder.path, { tables: [counted] });
    await db.transact((tx) => tx.set(counted.value, "first", 0));
    const other = new ProgramProcess("test/embedded/opening-child.ts", [folder.path, child]);
    const committed = new Map<string, number>([["first", 0]]);
    const stale: string[] = [];
    try {
      let isOver = false;
      const commit = async (writer: string) => {
        for (let i = 0; !isOver; i++) {
          const row = `${writer} ${i}`;
          await db.transact((tx) => tx.set(counted.value, row, i));
          committed.set(row, i);
          if ((await db.transact((tx) => tx.get(counted.value, row))) !== i) stale.push(row);
        }
      };
      const isDone = other.said(() => other.lines.length >= times).finally(() => (isOver = true));
      await Promise.all([isDone, ...["a", "b", "c"].map(commit)]);
    } finally {
      await other.kill();
    }
    // The next write transaction corrects a number that is still wrong.
    await db.transact((tx) => tx.set(counted.value, "first", 0));
    const found = new Map<string, number | undefined>();
    await using view = await db.snapshot();
    for await (const { row, value } of view.scan(counted)) found.set(row, value.value);
    expect([...committed].filter(([row, value]) => found.get(row) !== value)).toEqual([]);
    // A program that does not announce that it opens the files may hide a commit for a moment.
    if (child === "database") expect(stale).toEqual([]);
    expect(await db.check()).toEqual([]);
  } finally {
    await folder.remove();
  }
});
