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

/** Meets the lock on a secondary first. */
const totalFromTheEnd = async (db: Database): Promise<void> => {
  await db.transact(async (tx) => {
    const b = await tx.get(cells.value, "b");
    const a = await tx.get(cells.value, "a");
    expectEqual("a + b", a! + b!, 100);
  }, once);
};

const tables = [cells];
const setup = startWith({ a: 50, b: 50 });

/** Writes without reading, so that the protocol's own steps are all there is. */
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

/** Two writers that read first: money that is moved neither comes nor goes. */
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

/** In one phase no record says how it ended, so that the writer looks for its value itself. */
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

/** The values stand in data cells of their own. */
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

/** Two readers meet the locks of one writer, whose lock is refreshed meanwhile. */
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

/** One commits in one phase, the other in two, on the same store. */
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

/** A row whose cells are more than one mutation takes: chunks of one row, each treated as a row. */
export const chunks: Program = {
  name: "a writer of a divided row, and a reader",
  tables,
  commit: "two-phase",
  // A column takes three guards and a lock, so that each chunk holds one.
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
