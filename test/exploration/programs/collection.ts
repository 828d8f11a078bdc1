import { CommitOutcomeUnknownError, type Database, observer, PercolatorError } from "../../../src/index.js";
import type { Program } from "../../../src/testing/exploration/index.js";
import { cells, once, pages, startWith } from "./tables.js";

const collect = (db: Database) => db.collect({ retentionMs: 0 });

const both = (a: number, b: number) => (db: Database) =>
  db.transact((tx) => {
    tx.set(cells.value, "a", a);
    tx.set(cells.value, "b", b);
  }, once);

/** Expects that both cells are equal, because they are always written or deleted together. */
const together = async (db: Database): Promise<void> => {
  await db.transact(async (tx) => {
    const [a, b] = [await tx.get(cells.value, "a"), await tx.get(cells.value, "b")];
    if (a !== b) throw new Error(`a is ${a} and b is ${b}`);
  }, once);
};

const collecting = {
  tables: [cells],
  commit: "two-phase",
  systemRequests: "safepoint",
  setup: startWith({ a: 1, b: 1 }),
  healed: together,
} as const;

export const collectionAndWriter: Program = {
  ...collecting,
  name: "collection beside a writer that stops",
  clients: { writer: ({ db }) => both(2, 2)(db), collector: ({ db }) => collect(db) },
  faults: { stops: 1 },
};

export const collectionAndLostAnswer: Program = {
  ...collecting,
  name: "collection beside a writer whose answer is lost",
  clients: { writer: ({ db }) => both(2, 2)(db), collector: ({ db }) => collect(db) },
  faults: { lostAnswers: 1 },
};

/**
 * Writes a value that no other client writes. If the commit fails with an error that says that
 * nothing was written, the value must not be there.
 */
export async function writeAsTold(db: Database): Promise<void> {
  try {
    await db.transact((tx) => tx.set(cells.value, "a", 2), once);
  } catch (error) {
    const isUnknown = error instanceof CommitOutcomeUnknownError;
    if (isUnknown || !(error instanceof PercolatorError)) throw error;
    const found = await db.transact((tx) => tx.get(cells.value, "a"), once);
    if (found === 2) throw new Error(`what was told not to be written is there, after ${error.code}`);
    throw error;
  }
}

/** Writes only one cell, so that the exploration is fast. */
export const collectionAndLostAnswerOfOneCell: Program = {
  ...collecting,
  name: "collection beside a writer of one cell whose answer is lost",
  clients: {
    writer: ({ db }) => writeAsTold(db),
    collector: ({ db }) => collect(db),
  },
  faults: { lostAnswers: 1 },
  // The check of `collecting` does not apply, because only one of the two cells changes.
  healed: async () => {},
};

/**
 * A cell is read, deleted and collected before a writer's late secondary commit arrives. That
 * commit must not bring the cell back.
 */
export const collectionOfDeleted: Program = {
  ...collecting,
  name: "collection of a deleted cell beside its writer",
  commit: { writer: "two-phase", collector: "one-phase" },
  clients: {
    writer: ({ db }) => both(2, 2)(db),
    collector: async ({ db }) => {
      await db.transact(async (tx) => {
        await tx.get(cells.value, "b");
        tx.delete(cells.value, "b");
      }, once);
      await collect(db);
    },
  },
  healed: async () => {},
};

/** Reads first, so that its writes depend on a version that garbage collection may remove. */
const swapIfThere = async (db: Database) => {
  await db.transact(async (tx) => {
    const a = await tx.get(cells.value, "a");
    if (a !== undefined) tx.set(cells.value, "a", a + 1);
  }, once);
};

function deletedUnderWriter(
  name: string,
  commit: "one-phase" | "two-phase",
  atomicBatches: boolean,
): Program {
  return {
    name,
    tables: [cells],
    commit,
    atomicBatches,
    systemRequests: "safepoint",
    setup: startWith({ a: 1 }),
    clients: {
      writer: ({ db }) => swapIfThere(db),
      collector: async ({ db }) => {
        await db.transact((tx) => tx.delete(cells.value, "a"), once);
        await collect(db);
      },
    },
  };
}

export const collectionUnderWriter = deletedUnderWriter("collection under a writer", "two-phase", true);
export const collectionUnderWriterOnePhase = deletedUnderWriter(
  "collection under a writer, in one phase",
  "one-phase",
  true,
);
export const collectionUnderWriterDistant = deletedUnderWriter(
  "collection under a writer, without atomic batches",
  "two-phase",
  false,
);

/** Records how often a text changed, with its old and new values. */
const seen = observer("seen", pages.text, (tx, { row, value, previous }) => {
  tx.set(pages.length, row, value?.length ?? 0);
  tx.set(pages.words, row, previous?.length ?? 0);
});

const write = (text: string | undefined) => (db: Database) =>
  db.transact((tx) => {
    if (text === undefined) tx.delete(pages.text, "p");
    else tx.set(pages.text, "p", text);
  }, once);

/** `previous` must be available, however often garbage is collected. */
function observedCollection(
  name: string,
  text: string | undefined,
  commit: "one-phase" | "two-phase",
  isSeen = true,
): Program {
  return {
    name,
    tables: [pages],
    observers: [seen],
    commit,
    systemRequests: "safepoint",
    setup: async (db, work) => {
      await write("one")(db);
      if (isSeen) await work();
    },
    clients: {
      writer: ({ db }) => write(text)(db),
      worker: (client) => client.work(),
      collector: ({ db }) => collect(db),
    },
    healed: async (db) => {
      const row = await db.transact((tx) => tx.row(pages, "p"));
      if (row?.text === undefined && row?.length !== undefined && row.length !== 0)
        throw new Error(`the length of what was deleted is ${row.length}`);
      if (row?.text === "three" && (row.length !== 5 || row.words !== 3))
        throw new Error(`the length is ${row.length}, and was ${row.words} before`);
    },
  };
}

export const collectionBesideObserver = observedCollection(
  "collection beside a writer and an observer",
  "three",
  "two-phase",
);
export const collectionBesideObserverOnePhase = observedCollection(
  "collection beside a writer and an observer, in one phase",
  "three",
  "one-phase",
);
export const deletionBesideObserver = observedCollection(
  "collection beside a deletion and an observer, in one phase",
  undefined,
  "one-phase",
);
/** The observer has never run. Only the delete marker shows that there was a change. */
export const deletionOfUnseen = observedCollection(
  "collection beside a deletion of what no observer has seen, in one phase",
  undefined,
  "one-phase",
  false,
);

/**
 * Garbage collection has passed a reader's snapshot. The version that the reader needs is gone, but
 * an older version remains, because an observer needs it as its `previous`. The reader must not
 * return the older version.
 */
export const readerBelowPrevious: Program = {
  name: "a reader below the safepoint beside what an observer's `previous` keeps",
  tables: [pages],
  observers: [seen],
  systemRequests: "safepoint",
  setup: async (db, work) => {
    await write("one")(db);
    await work();
    await write("two")(db);
  },
  clients: {
    reader: ({ db }) => db.transact((tx) => tx.get(pages.text, "p"), once),
    collector: async ({ db }) => {
      await write("three")(db);
      await collect(db);
    },
  },
};
