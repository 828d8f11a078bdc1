import type { Database } from "../../../src/index.js";
import type { CommitMode, Program } from "../../../src/testing/exploration/index.js";
import { cells, once, startWith } from "./tables.js";

const serializable = { ...once, isolation: "serializable" } as const;

/**
 * Takes from one cell what both together cover; allowed while the sum stays at 0 or above. Reads `first`, and then the other
 * one.
 */
const take = (from: string, first: string) => (db: Database) =>
  db.transact(async (tx) => {
    const one = (await tx.get(cells.value, first))!;
    const two = (await tx.get(cells.value, first === "a" ? "b" : "a"))!;
    if (one + two >= 100) tx.set(cells.value, from, (first === from ? one : two) - 100);
  }, serializable);

const covered = async (db: Database) => {
  const sum = await db.transact(
    async (tx) => (await tx.get(cells.value, "a"))! + (await tx.get(cells.value, "b"))!,
  );
  if (sum < 0) throw new Error(`write skew: a + b is ${sum}`);
};

/** A reads the cell first that it writes, and B the one that it does not write: neither the first nor the last read may be skipped. */
function skew(name: string, commit: Program["commit"]): Program {
  return {
    name,
    tables: [cells],
    commit,
    setup: startWith({ a: 50, b: 50 }),
    clients: { A: ({ db }) => take("a", "a")(db), B: ({ db }) => take("b", "a")(db) },
    faults: { stops: 1 },
    healed: covered,
  };
}

export const writeSkew = skew("write skew under serializable", "two-phase");
export const writeSkewOnePhase = skew("write skew under serializable, in one phase", "one-phase");
/** One locks what it writes before it validates what it read; the other must respect that lock on what it only reads. */
export const writeSkewMixed = skew("write skew under serializable, one-phase beside two-phase", {
  A: "two-phase",
  B: "one-phase",
});

/** Adds a row where it saw fewer than two. */
const book = (row: string) => (db: Database) =>
  db.transact(async (tx) => {
    let booked = 0;
    for await (const _ of tx.scan(cells.value)) booked++;
    if (booked < 2) tx.set(cells.value, row, 1);
  }, serializable);

const atMostTwo = async (db: Database) => {
  const booked = await db.transact(async (tx) => {
    let count = 0;
    for await (const _ of tx.scan(cells.value)) count++;
    return count;
  });
  if (booked > 2) throw new Error(`a phantom: ${booked} rows are booked`);
};

function phantomProgram(name: string, commit: CommitMode): Program {
  return {
    name,
    tables: [cells],
    commit,
    setup: startWith({ m: 1 }),
    clients: { A: ({ db }) => book("a")(db), B: ({ db }) => book("z")(db) },
    faults: { stops: 1 },
    healed: atMostTwo,
  };
}

export const phantom = phantomProgram("a phantom under serializable", "two-phase");
export const phantomOnePhase = phantomProgram("a phantom under serializable, in one phase", "one-phase");

/**
 * A reader pushes a serializable writer, which must validate again at its new commit timestamp: what it read has changed by then,
 * as the reader saw.
 */
export const pushedReader: Program = {
  name: "a serializable writer that a reader pushes, and another writer",
  tables: [cells],
  commit: { A: "two-phase", B: "one-phase", reader: "one-phase" },
  setup: startWith({ a: 0, b: 0 }),
  clients: {
    A: ({ db }) =>
      db.transact(async (tx) => {
        const b = await tx.get(cells.value, "b");
        tx.set(cells.value, "a", 1);
        return b;
      }, serializable),
    B: ({ db }) => db.transact((tx) => tx.set(cells.value, "b", 1), once),
    reader: ({ db }) =>
      db.transact(
        async (tx) => [await tx.get(cells.value, "b"), await tx.get(cells.value, "a")].join(),
        once,
      ),
  },
  ended: ({ A, reader }) => {
    // B, then the reader, then A: and yet A has not seen B.
    const isWrong =
      A?.outcome === "returned" && A.value === 0 && reader?.outcome === "returned" && reader.value === "1,0";
    if (isWrong) throw new Error("A committed after the reader, who had seen B, and has not seen B itself");
  },
};
