import type { Database } from "../../database/index.js";
import { CommitOutcomeUnknownError, ExportDamagedError, PercolatorError } from "../../errors/index.js";
import type { DueCell } from "../../observer/index.js";
import {
  bytesTable,
  definition,
  encodeRow,
  type TableDefinition,
  tableFromDescription,
  type UntypedTable,
} from "../../schema/index.js";
import type { Transaction } from "../../transaction/index.js";
import type { ReadBlock } from "./block-reader.js";
import { cellFromLine, type DumpedCell } from "./cell-text.js";
import { dueCell } from "./due-changes.js";
import { type DueLine, type ExportHeader, parseLine, type RowLine } from "./format.js";

/** A table of an export: to write bytes to, and to read lines by. */
interface ImportedTable {
  readonly table: UntypedTable;
  readonly typed: TableDefinition;
}

interface Place {
  readonly block: number;
  readonly cells: number;
}

export interface ImportOptions {
  readonly db: Database;
  /** Under which the database remembers how far this import is. */
  readonly note: string;
  /** Tables that are wanted. */
  readonly wanted: ReadonlySet<string>;
  readonly name: string;
  readonly signal: AbortSignal;
}

/** The tables that a header describes, with the bytes of values as their values. */
export function importedTables(header: ExportHeader): readonly UntypedTable[] {
  return header.tables.map((description) => bytesTable(description));
}

/** Writes blocks into a database, each in a transaction of its own, which also keeps how far it is. */
export class BlockImporter {
  /** Cells written by this one. */
  cells = 0;
  readonly #tables: ReadonlyMap<string, ImportedTable>;
  readonly #options: ImportOptions;
  readonly #due: readonly DueLine[];

  constructor(header: ExportHeader, options: ImportOptions) {
    this.#options = options;
    this.#due = header.due ?? [];
    this.#tables = new Map(
      header.tables.map((description) => [
        description.name,
        { table: bytesTable(description), typed: tableFromDescription(description)[definition] },
      ]),
    );
  }

  /** The last block that an earlier import of the same export has written. */
  async done(): Promise<Place | undefined> {
    return await this.#options.db.transact((tx) => this.#noted(tx), { signal: this.#options.signal });
  }

  /** Writes a block, unless that was done. */
  async write(block: ReadBlock): Promise<void> {
    const cells = this.#cellsOf(block);
    const wrote = await this.#transact(async (tx) => {
      const noted = await this.#noted(tx);
      // Another that imports the same was faster.
      if (noted !== undefined && noted.block >= block.block) return false;
      for (const { column, row, value } of cells) tx.set(column, row, value);
      const place: Place = { block: block.block, cells: block.cells };
      tx.setNote(this.#options.note, Buffer.from(JSON.stringify(place)));
      return true;
    });
    if (wrote) this.cells += cells.length;
  }

  /** Makes due what was due where the export was made, and forgets how far it is: all was written. */
  async finish(): Promise<void> {
    const { db, wanted, signal } = this.#options;
    const due = this.#due.filter(({ table }) => wanted.has(table));
    await db.markDue(
      due.map((line) => this.#dueCell(line)),
      signal,
    );
    await this.#transact((tx) => tx.setNote(this.#options.note, undefined));
  }

  #dueCell(line: DueLine): DueCell {
    const known = this.#tables.get(line.table);
    if (known !== undefined) return dueCell(known.typed, line);
    throw new ExportDamagedError(
      `${this.#options.name} has a change that is due in table ${line.table}, which is not in its header.`,
    );
  }

  async #transact<T>(run: (tx: Transaction) => T | Promise<T>): Promise<T> {
    const { db, signal } = this.#options;
    for (let attempt = 1; ; attempt++) {
      try {
        return await db.transact(run, { label: "percolator import", signal });
      } catch (error) {
        // The note tells whether it was done.
        if (!(error instanceof CommitOutcomeUnknownError) || attempt >= 3) throw error;
      }
    }
  }

  async #noted(tx: Transaction): Promise<Place | undefined> {
    const bytes = await tx.note(this.#options.note);
    return bytes === undefined ? undefined : (JSON.parse(Buffer.from(bytes).toString()) as Place);
  }

  #cellsOf(block: ReadBlock): readonly (DumpedCell & { readonly row: unknown })[] {
    return block.lines.flatMap((text, index) => {
      try {
        return this.#cellsOfLine(text);
      } catch (error) {
        if (!(error instanceof PercolatorError)) throw error;
        const line = block.firstLine + index;
        throw new ExportDamagedError(
          `${this.#options.name} has a line that cannot be imported, ${line} in block ${block.block}: ${error.message}`,
          { cause: error },
        );
      }
    });
  }

  #cellsOfLine(text: string): readonly (DumpedCell & { readonly row: unknown })[] {
    const line = parseLine(text) as Partial<RowLine> | undefined;
    const { table: name, row, cells } = line ?? {};
    const known = name === undefined ? undefined : this.#tables.get(name);
    if (known === undefined || typeof row !== "string" || !Array.isArray(cells)) {
      throw new ExportDamagedError("it is no row of a table of the header.");
    }
    if (!this.#options.wanted.has(known.typed.name)) return [];
    const key = known.typed.key.parse(row);
    encodeRow(known.typed, key);
    return cells.map((cell) => ({ ...cellFromLine(known.table, known.typed, cell), row: key }));
  }
}
