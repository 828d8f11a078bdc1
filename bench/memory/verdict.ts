export const rowOf = (number: number) => `row-${String(number).padStart(8, "0")}`;
/** Of lengths that differ from update to update, so that a missed one is seen. */
export const contentsOf = (number: number, bytes: number) => `${number} `.padEnd(bytes + (number % 7), "x");

/** A row as it was found in the end. */
export interface Document {
  readonly contents?: string | undefined;
  readonly length?: number | undefined;
  readonly runs?: number | undefined;
}

/**
 * After updates with numbers below `updates`, each of the row of its number modulo `rows`: rows that do not have their last update, that the
 * observer has not brought up to date, or has run for more often than they were updated, that are missing, or that nobody wrote.
 */
export function countWrong(
  found: Iterable<readonly [row: string, document: Document]>,
  updates: number,
  { rows, bytes }: { readonly rows: number; readonly bytes: number },
): number {
  const missing = new Map(Array.from({ length: Math.min(rows, updates) }, (_, row) => [rowOf(row), row]));
  let wrong = 0;
  for (const [row, document] of found) {
    const number = missing.get(row);
    missing.delete(row);
    if (number === undefined || !isRight(document, number, updates, rows, bytes)) wrong++;
  }
  return wrong + missing.size;
}

function isRight(
  { contents, length, runs = 0 }: Document,
  row: number,
  updates: number,
  rows: number,
  bytes: number,
): boolean {
  const before = Math.floor((updates - 1 - row) / rows);
  const last = contentsOf(row + before * rows, bytes);
  // Several updates may be one run's.
  return contents === last && length === last.length && runs >= 1 && runs <= before + 1;
}

/** What is wrong in the end decides the exit code; no amount of memory does. */
export function exitCodeOf({
  wrong,
  problems,
}: {
  readonly wrong: number;
  readonly problems: number;
}): number {
  return wrong === 0 && problems === 0 ? 0 : 1;
}
