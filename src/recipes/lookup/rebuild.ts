import { type Column, type Database, InvalidArgumentError, type Transaction } from "../../index.js";
import { checkOptions } from "../options.js";

/** The options of `rebuild`. All are optional. */
export interface RebuildOptions {
  /** Stops between two transactions when it is aborted. Repeat the call: it begins again. */
  readonly signal?: AbortSignal | undefined;
  /** Called after each transaction. */
  readonly onProgress?: ((progress: RebuildProgress) => void) | undefined;
}

/** How far a rebuild has come. */
export interface RebuildProgress {
  /** Rows of the column, and then entries, that were looked at. */
  readonly visited: number;
  readonly added: number;
  readonly removed: number;
}

/** Two rows that have the same value, as a rebuild of a unique constraint found them. */
export interface DuplicateValue {
  /** The key of the value: the result of `by`. */
  readonly key: string;
  /** The row that owns it, as text, and the row that has it too. */
  readonly owner: string;
  readonly row: string;
}

/** The result of a rebuild. */
export interface RebuildReport extends RebuildProgress {
  /** Rows whose value another row owns. Always 0 for an index. */
  readonly duplicates: number;
  /** The first of them, at most 100. */
  readonly examples: readonly DuplicateValue[];
}

/** What a unique constraint or an index must say of itself, so that it can be rebuilt. */
export interface Rebuildable {
  readonly column: Column<unknown, unknown>;
  readonly entries: Column<unknown, unknown>;
  /** Adds the entries of a row that are missing. Returns how many, and a duplicate if there is one. */
  readonly restore: (
    tx: Transaction,
    row: unknown,
    value: unknown,
  ) => Promise<{ readonly added: number; readonly duplicate?: DuplicateValue | undefined }>;
  /** Whether no row has the entry's value any more. */
  readonly isStale: (tx: Transaction, entry: unknown, value: unknown) => Promise<boolean>;
}

const rowsAtOnce = 100;
const maxExamples = 100;

/**
 * Makes the entries of a unique constraint or an index those of its current definition. First adds
 * what is missing, and then removes what no row has. Each transaction is serializable, so programs
 * with the current definition may write meanwhile.
 */
export async function rebuild(
  db: Database,
  { column, entries, restore, isStale }: Rebuildable,
  options: RebuildOptions,
): Promise<RebuildReport> {
  checkOptions("rebuild", options, { signal: "any", onProgress: "any" });
  const { signal, onProgress } = options;
  if (onProgress !== undefined && typeof onProgress !== "function")
    throw new InvalidArgumentError("`onProgress` of rebuild must be a function.");
  const total = { visited: 0, added: 0, removed: 0, duplicates: 0 };
  const examples: DuplicateValue[] = [];
  const tell = () => onProgress?.({ visited: total.visited, added: total.added, removed: total.removed });

  await walk(db, column, signal, async (tx, page) => {
    let added = 0;
    const duplicates: DuplicateValue[] = [];
    for (const { row, value } of page) {
      const restored = await restore(tx, row, value);
      added += restored.added;
      if (restored.duplicate !== undefined) duplicates.push(restored.duplicate);
    }
    return () => {
      total.visited += page.length;
      total.added += added;
      total.duplicates += duplicates.length;
      examples.push(...duplicates.slice(0, maxExamples - examples.length));
      tell();
    };
  });
  await walk(db, entries, signal, async (tx, page) => {
    let removed = 0;
    for (const { row, value } of page) {
      if (!(await isStale(tx, row, value))) continue;
      tx.delete(entries, row);
      removed++;
    }
    return () => {
      total.visited += page.length;
      total.removed += removed;
      tell();
    };
  });
  return { ...total, examples };
}

type Page = readonly { readonly row: unknown; readonly value: unknown }[];

/** Handles the cells of a column in transactions. `handle` returns what to do after the commit. */
async function walk(
  db: Database,
  column: Column<unknown, unknown>,
  signal: AbortSignal | undefined,
  handle: (tx: Transaction, page: Page) => Promise<() => void>,
): Promise<void> {
  for (let start: unknown, isLast = false; !isLast; ) {
    const from = start;
    const { next, done } = await db.transact(
      async (tx) => {
        const page: { row: unknown; value: unknown }[] = [];
        const bounds = from === undefined ? {} : { start: from };
        // One more than is handled: the row with which the next transaction begins.
        for await (const found of tx.scan(column, { ...bounds, limit: rowsAtOnce + 1 })) page.push(found);
        const next = page[rowsAtOnce]?.row;
        return { next, done: await handle(tx, page.slice(0, rowsAtOnce)) };
      },
      { isolation: "serializable", label: "rebuild", signal },
    );
    done();
    isLast = next === undefined;
    start = next;
  }
}
