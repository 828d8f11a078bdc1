import {
  type Column,
  type Database,
  InvalidArgumentError,
  PercolatorError,
  type Transaction,
} from "../../index.js";
import { checkOptions } from "../options.js";
import { checkDatabase } from "../view.js";

/** The options of `rebuild`. All are optional. */
export interface RebuildOptions {
  /**
   * Names this rebuild, so that a call with the same name continues where an interrupted or killed one was.
   * The database records the position until the rebuild is complete. After each change of the definition
   * raise its `version`, or use another name: rows that were visited with the old definition must be visited again. Default: no name. The call then begins at the first row.
   */
  readonly resume?: string | undefined;
  /** Stops between two transactions when it is aborted. Repeat the call: see `resume`. Default: none. */
  readonly signal?: AbortSignal | undefined;
  /** Called after each transaction. */
  readonly onProgress?: ((progress: RebuildProgress) => void) | undefined;
}

/** How far a rebuild has come, with what the calls that it continues did. */
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
  /** The first of those that this call has found, at most 100. */
  readonly examples: readonly DuplicateValue[];
  /** Whether the call continued an earlier, interrupted one. */
  readonly continued: boolean;
}

/** What the database records of an unfinished rebuild. */
interface RecordedRebuild extends RebuildProgress {
  readonly name: string;
  /** The version of the definition with which the rows were visited. */
  readonly version: number;
  /** First adds what is missing, then removes what is stale. */
  readonly phase: "restore" | "remove";
  /** The key of the row with which to continue, in hexadecimal digits. `null`: the first row. */
  readonly next: string | null;
  readonly duplicates: number;
}

/** What a unique constraint or an index must say of itself, so that it can be rebuilt. */
export interface Rebuildable {
  readonly column: Column<unknown, unknown>;
  readonly entries: Column<unknown, unknown>;
  readonly version: number;
  /** Adds the entries of a row that are missing. Returns how many, and a duplicate if there is one. */
  readonly restore: (
    tx: Transaction,
    row: unknown,
    value: unknown,
  ) => Promise<{ readonly added: number; readonly duplicate?: DuplicateValue | undefined }>;
  /** Whether no row has the entry's value any more. */
  readonly isStale: (tx: Transaction, entry: unknown, value: unknown) => Promise<boolean>;
}

const maxRows = 100;
const maxExamples = 100;

/**
 * Makes the entries of a unique constraint or an index those of its current definition. First adds
 * what is missing, and then removes what no row has. Each transaction is serializable, so programs
 * with the current definition may write meanwhile. If the entries of its rows are more than a
 * transaction can hold, it takes fewer rows.
 */
export async function rebuild(
  db: Database,
  { column, entries, version, restore, isStale }: Rebuildable,
  options: RebuildOptions,
): Promise<RebuildReport> {
  checkDatabase("rebuild", db);
  checkOptions("rebuild", options, { resume: "any", signal: "any", onProgress: "any" });
  const { resume, signal, onProgress } = options;
  if (onProgress !== undefined && typeof onProgress !== "function")
    throw new InvalidArgumentError("`onProgress` of rebuild must be a function.");
  if (resume !== undefined && (typeof resume !== "string" || resume === ""))
    throw new InvalidArgumentError("`resume` of rebuild must be a text that is not empty.");
  const note = `rebuild/${entries.table.name}`;
  const recorded =
    resume === undefined ? undefined : await readRecord(db, note, { name: resume, version }, signal);
  let state: RecordedRebuild = recorded ?? {
    name: resume ?? "",
    version,
    phase: "restore",
    next: null,
    visited: 0,
    added: 0,
    removed: 0,
    duplicates: 0,
  };
  const examples: DuplicateValue[] = [];
  let atOnce = maxRows;
  for (;;) {
    const { phase } = state;
    const isLast = phase === "remove";
    const visitedColumn = isLast ? entries : column;
    const limit = atOnce;
    const visiting = db.transact(
      async (tx) => {
        const { rows, next } = await readPage(tx, visitedColumn, state.next, limit);
        const found = isLast
          ? { ...nothing, removed: await remove(tx, entries, isStale, rows) }
          : await add(tx, restore, rows);
        const isOver = next === null && isLast;
        const after: RecordedRebuild = {
          name: state.name,
          version,
          phase: next === null ? "remove" : phase,
          next,
          visited: state.visited + rows.length,
          added: state.added + found.added,
          removed: state.removed + found.removed,
          duplicates: state.duplicates + found.duplicates.length,
        };
        if (resume !== undefined) {
          tx.setNote(note, isOver ? undefined : Buffer.from(JSON.stringify(after)));
        }
        // `db.schema` reads it.
        const rebuilt = `rebuilt/${entries.table.name}`;
        if (isOver && (version > 1 || (await tx.note(rebuilt)) !== undefined))
          tx.setNote(rebuilt, Buffer.from(String(version)));
        return { after, isOver, duplicates: found.duplicates };
      },
      { isolation: "serializable", label: "rebuild", signal },
    );
    const page = await visiting.catch((error: unknown) => {
      const isTooMuch = error instanceof PercolatorError && error.code === "LIMIT_EXCEEDED";
      if (!isTooMuch || limit === 1) throw error;
    });
    if (page === undefined) {
      atOnce = Math.floor(limit / 2);
      continue;
    }
    atOnce = Math.min(maxRows, limit + 1);
    state = page.after;
    examples.push(...page.duplicates.slice(0, maxExamples - examples.length));
    const { visited, added, removed, duplicates } = state;
    await onProgress?.({ visited, added, removed });
    if (page.isOver) {
      return { visited, added, removed, duplicates, examples, continued: recorded !== undefined };
    }
  }
}

const nothing = { added: 0, removed: 0, duplicates: [] as readonly DuplicateValue[] };

type Rows = readonly { readonly row: unknown; readonly value: unknown }[];

/** The rows of a transaction, and the key with which the next one begins. */
async function readPage(
  tx: Transaction,
  column: Column<unknown, unknown>,
  from: string | null,
  limit: number,
): Promise<{ readonly rows: Rows; readonly next: string | null }> {
  const { key } = column.table;
  const bounds = from === null ? {} : { start: key.decode(Buffer.from(from, "hex")) };
  const rows: { row: unknown; value: unknown }[] = [];
  // One more than is handled: the row with which the next transaction begins.
  for await (const found of tx.scan(column, { ...bounds, limit: limit + 1 })) rows.push(found);
  const next = rows[limit];
  return {
    rows: rows.slice(0, limit),
    next: next === undefined ? null : Buffer.from(key.encode(next.row as never)).toString("hex"),
  };
}

async function add(tx: Transaction, restore: Rebuildable["restore"], rows: Rows): Promise<typeof nothing> {
  let added = 0;
  const duplicates: DuplicateValue[] = [];
  for (const { row, value } of rows) {
    const restored = await restore(tx, row, value);
    added += restored.added;
    if (restored.duplicate !== undefined) duplicates.push(restored.duplicate);
  }
  return { added, removed: 0, duplicates };
}

async function remove(
  tx: Transaction,
  entries: Column<unknown, unknown>,
  isStale: Rebuildable["isStale"],
  rows: Rows,
): Promise<number> {
  let removed = 0;
  for (const { row, value } of rows) {
    if (!(await isStale(tx, row, value))) continue;
    tx.delete(entries, row);
    removed++;
  }
  return removed;
}

/** The record of an interrupted rebuild of this name and version. */
function readRecord(
  db: Database,
  note: string,
  { name, version }: Pick<RecordedRebuild, "name" | "version">,
  signal: AbortSignal | undefined,
): Promise<RecordedRebuild | undefined> {
  return db.transact(
    async (tx) => {
      const bytes = await tx.note(note);
      if (bytes === undefined) return undefined;
      const recorded = JSON.parse(Buffer.from(bytes).toString()) as RecordedRebuild;
      return recorded.name === name && recorded.version === version ? recorded : undefined;
    },
    { label: "rebuild", signal },
  );
}
