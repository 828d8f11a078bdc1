import { existsSync } from "node:fs";
import { int, observer, table, text } from "percolatordb";

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));
const waiting = "waits for ";

/** Contents whose run waits until this file exists. */
export const waitsFor = (file: string) => `${waiting}${file}`;

export const documents = table("documents", {
  contents: text(),
  length: int(),
  runs: int(),
  doneBy: int(),
});

/** Slow enough that several runs overlap at any moment. Some documents end the process. */
export const lengths = observer(
  "lengths",
  documents.contents,
  async (tx, { row, value }) => {
    if (value === "ends its process") process.exit(3);
    await pause(3);
    if (value?.startsWith(waiting)) while (!existsSync(value.slice(waiting.length))) await pause(10);
    tx.set(documents.length, row, value?.length ?? 0);
    tx.set(documents.runs, row, ((await tx.get(documents.runs, row)) ?? 0) + 1);
    tx.set(documents.doneBy, row, process.pid);
  },
  { attempts: 3 },
);

// biome-ignore lint/style/noDefaultExport: what the command line takes
export default { tables: [documents], observers: [lengths] };
