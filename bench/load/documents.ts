import { type Database, int, type Observer, observer, table, text } from "percolatordb";

/**
 * Documents with an observer that counts its runs: what `npm run memory` and `npm run recovery` put
 * under load.
 */
export const documents = table("documents", { contents: text(), length: int(), runs: int() });

/** Derives from each change. Each run waits `workMs`, as if it asked another service. */
export function observersOf(workMs = 0): readonly Observer[] {
  return [
    observer("lengths", documents.contents, async (tx, { row, value }) => {
      if (workMs > 0) await new Promise((resolve) => setTimeout(resolve, workMs));
      tx.set(documents.length, row, value?.length ?? 0);
      tx.set(documents.runs, row, ((await tx.get(documents.runs, row)) ?? 0) + 1);
    }),
  ];
}

/** Rows that follow each other are far apart in the table. */
export const rowOf = (number: number) => `${(number * 7_919) % 1_000}-${String(number).padStart(8, "0")}`;
/** Lengths differ from update to update, so that a missed update is seen. */
export const contentsOf = (number: number, bytes: number) => `${number} `.padEnd(bytes + (number % 7), "x");

export interface Document {
  readonly contents?: string | undefined;
  readonly length?: number | undefined;
  readonly runs?: number | undefined;
}

/** Updates have numbers from 0, and each is of the row of its number modulo `rows`. */
export interface Shape {
  /** Infinity: each update writes a new document. */
  readonly rows: number;
  readonly bytes: number;
}

/**
 * After this many updates, the rows without their last update, those that the observer has not
 * brought up to date or has run for more often than they were updated, missing rows, and rows that
 * nothing wrote.
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

/** What is wrong in a database in which nothing is due any more. */
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
