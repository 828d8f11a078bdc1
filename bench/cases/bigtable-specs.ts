import { type Database, type Snapshot, table, text } from "percolatordb";
import { type ComparisonSpec, expectValue, inFlight, type Side } from "../harness/compare.js";
import { shuffled, textOf } from "../harness/data.js";
import type { RawBigtable } from "./bigtable-raw.js";

const valueBytes = 100;
export const width = 64;
const column = Buffer.from("contents");
const floors = { transactions: 0.45, reads: 0.94 };
/** The length of the header before the value in our write record. */
const headerBytes = 9;

export const documents = table("documents", { contents: text() });

/** What is measured: a database, and the raw requests to compare with it. */
export interface Measured {
  readonly db: Database;
  readonly raw: Pick<RawBigtable, "mutate" | "read">;
  readonly rows: readonly string[];
  /** The number of operations in one round. */
  readonly operations: number;
  /** Whether the database's store batches requests. The raw requests are never batched. */
  readonly gathered: boolean;
}

/**
 * Compares transactions of one cell with conditional mutations. The table must be empty. The raw
 * side uses its own table.
 */
export function transactionSpec(measured: Measured): ComparisonSpec {
  const { operations, gathered } = measured;
  return {
    name: named("transactions of one cell", gathered),
    unit: "transactions",
    operations,
    floor: gathered ? undefined : floors.transactions,
    raw: mutations(measured),
    ours: ourTransactions(measured),
  };
}

/** Compares reads of one cell with reads of one row in the same table, filled by {@link fill}. */
export function readSpec(measured: Measured): ComparisonSpec {
  const { raw, operations, gathered } = measured;
  return {
    name: named("reads of one cell", gathered),
    unit: "reads",
    operations,
    floor: gathered ? undefined : floors.reads,
    raw: readSide(measured, ({ timestamp }) => async (row) => {
      const value = await raw.read(Buffer.from(row), column, timestamp);
      return value && Buffer.from(value).toString("utf8", headerBytes);
    }),
    ours: readSide(measured, (snapshot) => (row) => snapshot.get(documents.contents, row)),
  };
}

/** Writes into every row the value that reads must find. */
export function fill({ db, rows }: Measured): Promise<void> {
  return inFlight(rows.length, width, (cell) =>
    db.transact((tx) => tx.set(documents.contents, rows[cell]!, textOf(cell, valueBytes))),
  );
}

function named(what: string, gathered: boolean): string {
  return `${what}, ${width} in flight${gathered ? ", gathered" : ""}`;
}

/** The cells of a round, by their number in it. */
function cellsOf({ rows, operations }: Measured, seed: number): (round: number, index: number) => number {
  const order = shuffled(rows.length, seed);
  return (round, index) => order[(round * operations + index) % rows.length]!;
}

function mutations(measured: Measured): Side {
  const { raw, rows, operations } = measured;
  const cellOf = cellsOf(measured, 5);
  let timestamp = 1_000_000;
  return {
    async run(round) {
      let applied = 0;
      await inFlight(operations, width, async (index) => {
        const cell = cellOf(round, index);
        const value = Buffer.from(textOf(cell, valueBytes, round));
        if (await raw.mutate(Buffer.from(rows[cell]!), column, ++timestamp, value)) applied++;
      });
      return applied;
    },
    verify: (round) =>
      inFlight(operations, width, async (index) => {
        const cell = cellOf(round, index);
        const found = await raw.read(Buffer.from(rows[cell]!), column, timestamp);
        expectValue(rows[cell]!, found && Buffer.from(found).toString(), textOf(cell, valueBytes, round));
      }),
  };
}

function ourTransactions(measured: Measured): Side {
  const { db, rows, operations } = measured;
  const cellOf = cellsOf(measured, 5);
  /** The values that all rounds so far have written. */
  const written = new Map<string, string>();
  return {
    async run(round) {
      await inFlight(operations, width, (index) => {
        const cell = cellOf(round, index);
        const value = textOf(cell, valueBytes, round);
        return db.transact((tx) => tx.set(documents.contents, rows[cell]!, value));
      });
      return operations;
    },
    async verify(round) {
      for (let index = 0; index < operations; index++) {
        const cell = cellOf(round, index);
        written.set(rows[cell]!, textOf(cell, valueBytes, round));
      }
      await expectTable(db, written);
    },
  };
}

/** Checks the whole table by a scan, because a scan is one request. */
async function expectTable(db: Database, written: ReadonlyMap<string, string>): Promise<void> {
  const missing = new Set(written.keys());
  await using snapshot = await db.snapshot();
  for await (const { row, value } of snapshot.scan(documents.contents)) {
    expectValue(row, value, written.get(row));
    missing.delete(row);
  }
  for (const row of missing) expectValue(row, undefined, written.get(row));
}

/** Keeps the results. They are checked outside of the measured time. */
function readSide(
  measured: Measured,
  reader: (snapshot: Snapshot) => (row: string) => Promise<string | undefined>,
): Side {
  const { db, rows, operations } = measured;
  const cellOf = cellsOf(measured, 6);
  let found: (string | undefined)[] = [];
  return {
    async run(round) {
      await using snapshot = await db.snapshot();
      const read = reader(snapshot);
      found = new Array<string | undefined>(operations);
      let bytes = 0;
      await inFlight(operations, width, async (index) => {
        const value = await read(rows[cellOf(round, index)]!);
        found[index] = value;
        bytes += value?.length ?? Number.NaN;
      });
      return bytes;
    },
    verify(round) {
      for (const [index, value] of found.entries()) {
        const cell = cellOf(round, index);
        expectValue(rows[cell]!, value, textOf(cell, valueBytes));
      }
    },
  };
}
