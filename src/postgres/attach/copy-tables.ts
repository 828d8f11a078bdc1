import type { Database } from "../../database/index.js";
import { backoffDelay, sleep, throwIfAborted } from "../../environment/index.js";
import { type AnyTable, definition } from "../../schema/index.js";
import { settingToWrite } from "./changes/attached.js";
import { readCursor } from "./copy/copy.js";
import { moveChanges } from "./move.js";
import { readAttachments } from "./table/attachment.js";
import { needSource } from "./table/source.js";

/** How far {@link copyTables} is. */
export interface CopyProgress {
  /** The SQL table that is copied now, quoted. */
  readonly source: string;
  /** `copy`: rows are copied. `prune`: rows are deleted that SQL no longer has. */
  readonly phase: "copy" | "prune";
  /** Rows of all given tables that are copied. */
  readonly rows: number;
  /** The server's estimate of all their rows. Undefined if it has none for one of them. */
  readonly estimatedRows: number | undefined;
}

/** What {@link copyTables} takes. */
export interface CopyOptions {
  /** Aborting it ends the copy after a piece. Workers, or another call, continue there. Default: none. */
  readonly signal?: AbortSignal | undefined;
  /** Called before each piece. Default: none. */
  readonly onProgress?: ((progress: CopyProgress) => void) | undefined;
}

/** While the copy rests, this call only moves changes. A worker of this process does that more often. */
const restingMs = 50;
const contending = { initialMs: 20, maximumMs: 1_000 };

/**
 * Copies the rows of attached tables, piece by piece, until all are copied. It also moves changes
 * that are logged meanwhile. Without this call, workers do both. Resolves to the count of rows.
 * `tables` must have all attached tables of the database.
 *
 * @throws SchemaError if a table is not attached, or is parked.
 * @throws AbortedError if `signal` was aborted.
 *
 * @example
 * await attachTables(db, [orders]);
 * await copyTables(db, [orders], { onProgress: ({ rows }) => console.log(rows) });
 */
export async function copyTables(
  database: Database,
  tables: readonly AnyTable[],
  { signal, onProgress }: CopyOptions = {},
): Promise<number> {
  const setting = settingToWrite("copyTables", database);
  const names = new Set(tables.map((table) => needSource(table).sql));
  const request = { database, store: database.openedStore, tables: tables.map((table) => table[definition]) };
  for (let conflicts = 0; ; ) {
    throwIfAborted(signal, "Copying attached tables");
    let rows = 0;
    let estimatedRows: number | undefined = 0;
    let current: Pick<CopyProgress, "source" | "phase"> | undefined;
    for (const attachment of (await readAttachments(setting)).filter(({ sql }) => names.has(sql))) {
      const cursor = await database.transact((tx) => readCursor(tx, attachment));
      rows += cursor.rows ?? 0;
      const estimate = attachment.estimatedRows;
      estimatedRows = estimatedRows === undefined || !estimate ? undefined : estimatedRows + estimate;
      if (cursor.phase !== "done") current ??= { source: attachment.sql, phase: cursor.phase };
    }
    if (current !== undefined) await onProgress?.({ ...current, rows, estimatedRows });
    const { isContended, moved, restMs, problems } = await moveChanges(request);
    if (problems[0] !== undefined) throw problems[0];
    if (current === undefined) return rows;
    conflicts = isContended ? conflicts + 1 : 0;
    const { environment } = setting.connections;
    const pauseMs = isContended
      ? backoffDelay(environment, contending, conflicts)
      : restMs > 0 || !moved
        ? restingMs
        : 0;
    if (pauseMs > 0) await sleep(environment, pauseMs, signal);
  }
}
