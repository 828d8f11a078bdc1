import type { Database } from "../../../src/index.js";
import type { ClientHandle, Program } from "../../../src/testing/exploration/index.js";
import { writeAsTold } from "./collection.js";
import { cells, expectEqual, once, startWith } from "./tables.js";

const move = (from: string, to: string, amount: number) => (db: Database) =>
  db.transact(async (tx) => {
    const [left, right] = [await tx.get(cells.value, from), await tx.get(cells.value, to)];
    tx.set(cells.value, from, left! - amount);
    tx.set(cells.value, to, right! + amount);
  }, once);

const overwrite = (a: number, b: number) => (db: Database) =>
  db.transact((tx) => {
    tx.set(cells.value, "a", a);
    tx.set(cells.value, "b", b);
  }, once);

const total = async (db: Database): Promise<void> => {
  await db.transact(async (tx) => {
    const [a, b] = [await tx.get(cells.value, "a"), await tx.get(cells.value, "b")];
    expectEqual("a + b", a! + b!, 100);
  }, once);
};

/** Reads in an order that meets the lock on a secondary first. */
const totalFromTheEnd = async (db: Database): Promise<void> => {
  await db.transact(async (tx) => {
    const b = await tx.get(cells.value, "b");
    const a = await tx.get(cells.value, "a");
    expectEqual("a + b", a! + b!, 100);
  }, once);
};

const tables = [cells];
const setup = startWith({ a: 50, b: 50 });

/** Writes without reading, so that there are only the protocol's own steps. */
export const twoWritersAndAReader: Program = {
  name: "two writers and a reader on two cells",
  tables,
  commit: "two-phase",
  setup,
  clients: {
    A: ({ db }) => overwrite(10, 90)(db),
    B: ({ db }) => overwrite(20, 80)(db),
    reader: ({ db }) => total(db),
  },
  healed: total,
};

/** Two writers that read first. Transfers must not change the sum. */
export const twoTransfers: Program = {
  name: "two transfers",
  tables,
  commit: "two-phase",
  setup,
  clients: { A: ({ db }) => move("a", "b", 1)(db), B: ({ db }) => move("b", "a", 2)(db) },
  faults: { stops: 1 },
  healed: total,
};

const writersOnTwoCells = {
  tables,
  commit: "two-phase",
  setup,
  clients: {
    A: ({ db }: ClientHandle) => overwrite(10, 90)(db),
    B: ({ db }: ClientHandle) => overwrite(20, 80)(db),
  },
  healed: total,
} as const;

export const twoWritersLostAnswer: Program = {
  name: "two writers on two cells, an answer lost",
  ...writersOnTwoCells,
  faults: { lostAnswers: 1 },
};

/**
 * With one-phase commit no record shows the transaction's outcome, so the writer looks for its own
 * value.
 */
export const toldOnePhase: Program = {
  name: "a writer whose answer is lost, beside another, in one phase",
  tables,
  setup,
  clients: { A: ({ db }) => writeAsTold(db), B: ({ db }) => overwrite(10, 90)(db) },
  faults: { lostAnswers: 1 },
};

export const twoWritersStop: Program = {
  name: "two writers on two cells, one stops",
  ...writersOnTwoCells,
  faults: { stops: 1 },
};

export const twoWritersRepeat: Program = {
  name: "two writers on two cells, a request repeated",
  ...writersOnTwoCells,
  faults: { repeats: 1 },
};

export const twoWritersGuess: Program = {
  name: "two writers on two cells, one wrongly taken for dead",
  ...writersOnTwoCells,
  faults: { wrongGuesses: 1 },
};

/** The values are in separate data cells. */
export const twoWritersOfLongValues: Program = {
  name: "two writers of long values, one wrongly taken for dead",
  ...writersOnTwoCells,
  inlineBytes: 0,
  faults: { wrongGuesses: 1 },
};

const writerAndReader = {
  tables,
  commit: "two-phase",
  setup,
  clients: {
    writer: ({ db }: ClientHandle) => overwrite(10, 90)(db),
    reader: ({ db }: ClientHandle) => total(db),
  },
  healed: total,
} as const;

export const writerAndReaderStop: Program = {
  name: "a writer and a reader on two cells, one stops",
  ...writerAndReader,
  faults: { stops: 1, wrongGuesses: 1 },
};

/** The reader meets the lock on the secondary first. */
export const writerAndReaderFromTheEnd: Program = {
  name: "a writer and a reader from the last cell on, one wrongly taken for dead",
  ...writerAndReader,
  clients: {
    writer: ({ db }) => overwrite(10, 90)(db),
    reader: ({ db }) => totalFromTheEnd(db),
  },
  faults: { wrongGuesses: 1 },
};

export const writerAndReaderLostAnswer: Program = {
  name: "a writer and a reader on two cells, an answer lost and a request repeated",
  ...writerAndReader,
  faults: { lostAnswers: 1, repeats: 1 },
};

/** Two readers meet the locks of one writer. Meanwhile the writer refreshes its primary lock. */
export const push: Program = {
  name: "push: a writer, a reader, and a refresh",
  tables,
  commit: "two-phase",
  setup,
  clients: {
    writer: ({ db }) => overwrite(10, 90)(db),
    reader: ({ db }) => total(db),
  },
  faults: { timers: 1 },
  healed: total,
};

export const pushByTwo: Program = {
  name: "push: a writer and two readers",
  tables,
  commit: "two-phase",
  setup,
  clients: {
    writer: ({ db }) => overwrite(10, 90)(db),
    reader: ({ db }) => total(db),
    another: ({ db }) => totalFromTheEnd(db),
  },
  healed: total,
};

/** Two writers on the same store. One commits in one phase, the other in two phases. */
export const onePhaseBesideTwoPhase: Program = {
  name: "one-phase beside two-phase, and a reader",
  tables,
  commit: { A: "one-phase", B: "two-phase", reader: "one-phase" },
  setup,
  clients: {
    A: ({ db }) => move("a", "b", 1)(db),
    B: ({ db }) => move("b", "a", 2)(db),
    reader: ({ db }) => total(db),
  },
  healed: total,
};

export const onePhaseBesideTwoPhaseFaults: Program = {
  name: "one-phase beside two-phase, with faults",
  tables,
  commit: { A: "one-phase", B: "two-phase" },
  setup,
  clients: { A: ({ db }) => move("a", "b", 1)(db), B: ({ db }) => move("b", "a", 2)(db) },
  faults: { stops: 1, lostAnswers: 1 },
  healed: total,
};

/**
 * A row with more cells than one mutation can contain. Its chunks are treated like separate rows.
 */
export const chunks: Program = {
  name: "a writer of a divided row, and a reader",
  tables,
  commit: "two-phase",
  // Each column takes three guards and a lock, so each chunk has one column.
  mutationCells: 6,
  setup: (db) =>
    db.transact((tx) => {
      tx.set(cells.value, "a", 1);
      tx.set(cells.copy, "a", 1);
    }),
  clients: {
    writer: ({ db }) =>
      db.transact((tx) => {
        tx.set(cells.value, "a", 2);
        tx.set(cells.copy, "a", 2);
      }, once),
    reader: ({ db }) =>
      db.transact(async (tx) => {
        const row = await tx.row(cells, "a");
        expectEqual("the copy", row?.copy, row?.value);
      }, once),
  },
  faults: { stops: 1 },
};
