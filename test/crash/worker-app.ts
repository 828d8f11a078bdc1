import { int, observer, table, text } from "percolatordb";

export const documents = table("documents", {
  contents: text(),
  length: int(),
  runs: int(),
  doneBy: int(),
});

/** Slow enough that several runs overlap at any moment. */
export const lengths = observer("lengths", documents.contents, async (tx, { row, value }) => {
  await new Promise((resolve) => setTimeout(resolve, 3));
  tx.set(documents.length, row, value?.length ?? 0);
  tx.set(documents.runs, row, ((await tx.get(documents.runs, row)) ?? 0) + 1);
  tx.set(documents.doneBy, row, process.pid);
});
