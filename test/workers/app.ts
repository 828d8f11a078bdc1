import { int, observer, table, text } from "percolatordb";

export const documents = table("documents", {
  contents: text(),
  length: int(),
  runs: int(),
  doneBy: int(),
});

/** Slow enough that several are under way at any moment. Some documents are bad for the process. */
export const lengths = observer(
  "lengths",
  documents.contents,
  async (tx, { row, value }) => {
    if (value === "ends its process") process.exit(3);
    await new Promise((resolve) => setTimeout(resolve, value === "takes long" ? 5_000 : 3));
    tx.set(documents.length, row, value?.length ?? 0);
    tx.set(documents.runs, row, ((await tx.get(documents.runs, row)) ?? 0) + 1);
    tx.set(documents.doneBy, row, process.pid);
  },
  { attempts: 3 },
);

// biome-ignore lint/style/noDefaultExport: what the command line takes
export default { tables: [documents], observers: [lengths] };
