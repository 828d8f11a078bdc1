import type { Database } from "../../../src/index.js";
import type { CommitMode, Program } from "../../../src/testing/exploration/index.js";
import { cells, once, startWith } from "./tables.js";

const serializable = { ...once, isolation: "serializable" } as const;

/**
 * Withdraws from one cell an amount that the two cells together cover. Allowed while the sum stays
 * at 0 or above. Reads `first` before the other cell.
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

/**
 * A first reads the cell that it writes. B first reads the cell that it does not write. So
 * validation must skip neither the first read nor the last.
 */
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
/**
 * One transaction locks its writes before it validates its reads. The other transaction must
 * respect that lock on a cell that it only reads.
 */
export const writeSkewMixed = skew("write skew under serializable, one-phase beside two-phase", {
  A: "two-phase",
  B: "one-phase",
});

/** Adds a row if it saw fewer than two. */
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
 * A reader pushes a serializable writer, which must then validate again at its new commit
 * timestamp. By then another writer has changed the cell that it read, and the reader has seen
 * that.
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
    // The order must be B, the reader, A. But then A should have seen B.
    const isWrong =
      A?.outcome === "returned" && A.value === 0 && reader?.outcome === "returned" && reader.value === "1,0";
    if (isWrong) throw new Error("A committed after the reader, who had seen B, and has not seen B itself");
  },
};
