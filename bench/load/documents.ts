import { type Database, int, type Observer, observer, table, text } from "percolatordb";

/**
 * Documents with an observer that counts its runs: the load of `npm run memory` and `npm run
 * recovery`.
 */
export const documents = table("documents", { contents: text(), length: int(), runs: int() });

/**
 * Returns the only observer of the load. It stores a document's length and counts its own runs for
 * the document. Each run waits `workMs`, as for a call to another service.
 */
export function observersOf(workMs = 0): readonly Observer[] {
  return [
    observer("lengths", documents.contents, async (tx, { row, value }) => {
      if (workMs > 0) await new Promise((resolve) => setTimeout(resolve, workMs));
      tx.set(documents.length, row, value?.length ?? 0);
      tx.set(documents.runs, row, ((await tx.get(documents.runs, row)) ?? 0) + 1);
    }),
  ];
}

/** Consecutive numbers give rows that are far apart in the table. */
export const rowOf = (number: number) => `${(number * 7_919) % 1_000}-${String(number).padStart(8, "0")}`;
/** Lengths differ between updates, so that a missed update is detected. */
export const contentsOf = (number: number, bytes: number) => `${number} `.padEnd(bytes + (number % 7), "x");

export interface Document {
  readonly contents?: string | undefined;
  readonly length?: number | undefined;
  readonly runs?: number | undefined;
}

/** Updates are numbered from 0. Update `n` writes row `n` modulo `rows`. */
export interface Shape {
  /** Infinity: each update writes a new document. */
  readonly rows: number;
  readonly bytes: number;
}

/**
 * Returns the wrong rows after this many updates: those without their last update, those that the
 * observer has not handled or has handled more often than they were updated, missing rows, and
 * superfluous rows.
 */
export function wrongDocuments(
  found: Iterable<readonly [row: string, document: Document]>,
  updates: number,
  { rows, bytes }: Shape,
): readonly string[] {
  const missing = new Map(Array.from({ length: Math.min(rows, updates) }, (_, row) => [rowOf(row), row]));
  const wrong: string[] = [];
  for (const [row, { contents, length, runs = 0 }] of found) {
    const number = missing.get(row);
    missing.delete(row);
    const before = Math.floor((updates - 1 - (number ?? 0)) / rows);
    const last = contentsOf((number ?? 0) + (before === 0 ? 0 : before * rows), bytes);
    // One run may handle several updates.
    const isRight = contents === last && length === last.length && runs >= 1 && runs <= before + 1;
    if (number === undefined || !isRight) wrong.push(row);
  }
  return [...wrong, ...missing.keys()];
}

/** Returns the errors in a database in which nothing is due any more. */
export async function wrongIn(
  db: Pick<Database, "snapshot">,
  updates: number,
  shape: Shape,
): Promise<readonly string[]> {
  await using snapshot = await db.snapshot();
  const found: [string, Document][] = [];
  for await (const { row, value } of snapshot.scan(documents)) found.push([row, value]);
  return wrongDocuments(found, updates, shape);
}
