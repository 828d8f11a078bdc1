/** Compares what observers derived with a recomputation in plain SQL, row by row. */
import type { Database, Snapshot } from "percolatordb";
import type { Pool, PoolClient } from "pg";
import { comparisons } from "./comparisons.js";

/** The values of a row, those of its key first. */
export type Row = readonly unknown[];

/** A derived table, and the query that computes it. */
export interface Comparison {
  readonly table: string;
  /** How many values of a row are its key. */
  readonly keys: number;
  /** The rows as SQL computes them. */
  readonly expected: (client: PoolClient) => Promise<readonly Row[]>;
  /** The rows as observers wrote them. */
  readonly found: (view: Snapshot, client: PoolClient) => AsyncIterable<Row>;
}

export interface Verdict {
  readonly table: string;
  readonly rows: number;
  /** The first difference. Undefined if all rows are equal. */
  readonly difference: string | undefined;
}

/**
 * Waits until every change is handled, and then compares each table. Nobody may write meanwhile:
 * SQL is read after the derived tables.
 */
export async function* verify(db: Database, pool: Pool): AsyncGenerator<Verdict> {
  await db.drain();
  await using view = await db.snapshot();
  const client = await pool.connect();
  try {
    await client.query("begin isolation level repeatable read read only");
    for (const comparison of comparisons) yield await compare(comparison, view, client);
    const parked = await parkedVerdict(db);
    if (parked !== undefined) yield parked;
  } finally {
    // Closing the connection ends its transaction.
    client.release(true);
  }
}

async function compare(
  { table, keys, expected, found }: Comparison,
  view: Snapshot,
  client: PoolClient,
): Promise<Verdict> {
  const split = (row: Row) => [row.slice(0, keys), row.slice(keys)].map((part) => JSON.stringify(part));
  const wanted = new Map((await expected(client)).map((row) => split(row) as [string, string]));
  const rows = wanted.size;
  for await (const row of found(view, client)) {
    const [key, value] = split(row) as [string, string];
    const should = wanted.get(key);
    if (should === undefined)
      return { table, rows, difference: `${key} is ${value}, but SQL has no such row` };
    if (should !== value) return { table, rows, difference: `${key} is ${value}, but by SQL ${should}` };
    wanted.delete(key);
  }
  for (const [key, value] of wanted) return { table, rows, difference: `${key} is missing, by SQL ${value}` };
  return { table, rows, difference: undefined };
}

/** A change that failed too often, so that what is derived from it may be missing. */
async function parkedVerdict(db: Database): Promise<Verdict | undefined> {
  for await (const { observer, row, error } of db.parked()) {
    const difference = `${observer} of ${JSON.stringify(row)} failed: ${error.message}`;
    return { table: "parked changes", rows: 1, difference };
  }
  return undefined;
}
