import type { KnownTables } from "../../dashboard/index.js";
import type { Database } from "../../database/index.js";
import { LimitExceededError } from "../../errors/index.js";
import type { DueCell, ObservedCell } from "../../observer/index.js";
import { columnPath, definition, encodeRow, type TableDefinition } from "../../schema/index.js";
import type { DueLine } from "./format.js";

/**
 * Most bytes of due changes in an export. The header is one block of at most 96 MiB, and its other
 * contents are small.
 */
const maxDueBytes = 64 * 1024 * 1024;

/**
 * Collects the changes that are due or parked when the export runs. An import makes them due in the
 * new database.
 */
export class DueChanges {
  readonly #lines = new Map<string, DueLine>();
  #bytes = 0;

  get lines(): readonly DueLine[] {
    return [...this.#lines.values()];
  }

  /** Adds the changes that are due on these tables now. */
  async add(
    db: Database,
    tables: KnownTables,
    names: ReadonlySet<string>,
    signal: AbortSignal,
  ): Promise<void> {
    for (const list of [db.pending({ signal }), db.parked({ signal })]) {
      for await (const change of list) if (names.has(change.table)) this.#add(tables, change);
    }
  }

  #add(tables: KnownTables, { observer, table, row, column, qualifier }: ObservedCell): void {
    const { key } = tables.table(table)![definition];
    const line = { observer, table, row: key.format(row), column, qualifier };
    const text = JSON.stringify(line);
    if (this.#lines.has(text)) return;
    this.#lines.set(text, line);
    this.#bytes += Buffer.byteLength(text);
    if (this.#bytes <= maxDueBytes) return;
    throw new LimitExceededError(
      `${this.#lines.size} changes are due or parked, which is more than an export can hold. Run workers until fewer are left ` +
        "(`percolator wait`, `percolator parked --retry`), then export.",
    );
  }
}

/** Converts a due change of the header to a cell. Throws if it does not fit the table. */
export function dueCell(table: TableDefinition, { observer, row, column, qualifier }: DueLine): DueCell {
  return {
    observer,
    cell: {
      table: table.name,
      row: encodeRow(table, table.key.parse(row)),
      column: columnPath(column, qualifier),
    },
  };
}
