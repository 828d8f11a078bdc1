import { type Database, observer } from "../../../src/index.js";
import type { Program } from "../../../src/testing/exploration/index.js";
import { cells, once, pages } from "./tables.js";

/** Reads another column of its row. Its second run, which begins after the first, has that column prefetched. */
const sizeOf = observer(
  "size",
  pages.text,
  async (tx, { row, value }) => {
    const words = (await tx.get(pages.words, row)) ?? 0;
    tx.set(pages.length, row, (value?.length ?? 0) + words);
  },
  { concurrency: 1 },
);

/**
 * The row that the worker handles last, because its bucket is the later one. For this run the worker prefetches the columns that its
 * first run has read.
 */
const second = "p";

export const columnsAhead: Program = {
  name: "a run that has a column ahead, beside its writer",
  about: "What came ahead is as of the run's start, whatever lock stood on it and whenever it is read.",
  tables: [pages],
  observers: [sizeOf],
  commit: "two-phase",
  atomicBatches: false,
  setup: (db) =>
    db.transact((tx) => {
      for (const row of ["p", "q"]) tx.set(pages.text, row, "one");
    }),
  clients: {
    writer: ({ db }) => db.transact((tx) => tx.set(pages.words, second, 5), once),
    W1: (client) => client.work(),
  },
};

/** Two transactions whose prewrites are sent as one request. Returns the outcome of each. */
async function setBoth(db: Database): Promise<readonly string[]> {
  const one = await db.begin();
  const other = await db.begin();
  one.set(cells.value, "a", 1);
  other.set(cells.copy, "a", 1);
  const answers = await Promise.allSettled([one.commit(), other.commit()]);
  return answers.map(({ status }) => status);
}

export const joinedMutations: Program = {
  name: "two transactions of one process on one row, beside another's",
  about: "Mutations of one row that are sent as one are what they would be one after the other.",
  tables: [cells],
  commit: "two-phase",
  atomicBatches: false,
  clients: {
    A: ({ db }) => setBoth(db),
    B: ({ db }) => db.transact((tx) => tx.set(cells.copy, "a", 2), once),
  },
};
