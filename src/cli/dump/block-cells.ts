import { ExportDamagedError, InvalidValueError, PercolatorError } from "../../errors/index.js";
import type { DueCell, HandledCellOf } from "../../observer/index.js";
import {
  type AnyTable,
  bytesTable,
  columnPath,
  decodeValue,
  definition,
  encodeRow,
  type TableDefinition,
  tableFromDescription,
  type UntypedTable,
} from "../../schema/index.js";
import type { CellAddress } from "../../transaction/index.js";
import type { ReadBlock } from "./block-reader.js";
import { cellFromLine, type DumpedCell } from "./cell-text.js";
import { dueCell } from "./due-changes.js";
import { type ExportHeader, parseLine, type RowLine } from "./format.js";

/**
 * A table of an export in two forms. `table` has bytes as values, for writing. `typed` has the
 * codecs of the columns, for reading lines.
 */
interface ImportedTable {
  readonly table: UntypedTable;
  readonly typed: TableDefinition;
  /** The same table as the program's module declares it. */
  readonly declared: TableDefinition | undefined;
}

export interface BlockCellsOptions {
  /** Names of the tables to import. */
  readonly wanted: ReadonlySet<string>;
  /** Name of the file, for messages. */
  readonly name: string;
  /** Tables of the program's module. If any are given, they decode each value as a check. */
  readonly declared: readonly AnyTable[];
}

type ImportedCell = DumpedCell & { readonly row: unknown };

/** Extracts the cells to import from the blocks of an export. */
export class BlockCells {
  readonly #options: BlockCellsOptions;
  readonly #tables: ReadonlyMap<string, ImportedTable>;
  /** The due changes of the tables to import. */
  readonly due: readonly DueCell[];
  readonly #dueNames: ReadonlySet<string>;

  /** @throws PercolatorError if a due change does not fit its table. */
  constructor(header: ExportHeader, options: BlockCellsOptions) {
    this.#options = options;
    const declared = new Map(options.declared.map((table) => [table[definition].name, table[definition]]));
    this.#tables = new Map(
      header.tables.map((description) => [
        description.name,
        {
          table: bytesTable(description),
          typed: tableFromDescription(description)[definition],
          declared: declared.get(description.name),
        },
      ]),
    );
    this.due = this.#dueOf(header);
    this.#dueNames = new Set(this.due.map(({ observer, cell }) => handledName(observer, cell)));
  }

  /** The tables to import. Their values are bytes. */
  get tables(): readonly UntypedTable[] {
    const wanted = [...this.#tables.values()].filter(({ typed }) => this.#options.wanted.has(typed.name));
    return wanted.map(({ table }) => table);
  }

  /**
   * Returns the cells of a block that belong to the tables to import.
   *
   * @throws ExportDamagedError if a line cannot be part of an export.
   * @throws InvalidValueError if the module refuses a value.
   */
  of(block: ReadBlock): readonly ImportedCell[] {
    return block.lines.flatMap((text, index) => {
      try {
        return this.#ofLine(text);
      } catch (error) {
        if (!(error instanceof PercolatorError)) throw error;
        const line = `line ${block.firstLine + index} in block ${block.block}`;
        const { name } = this.#options;
        if (error instanceof RefusedValue) {
          throw new InvalidValueError(
            `${name} has a value that the module refuses, in ${line}: ${error.message}`,
            { cause: error },
          );
        }
        throw new ExportDamagedError(`${name} cannot be imported because of ${line}: ${error.message}`, {
          cause: error,
        });
      }
    });
  }

  /**
   * Returns what observers have handled of the tables to import, by the lines of a block. It leaves out
   * what was due.
   *
   * @throws ExportDamagedError if a line cannot be part of an export.
   */
  handled(block: ReadBlock): readonly HandledCellOf[] {
    return block.lines.flatMap((text) => {
      const { table: name, row, handled = [] } = parseLine(text) as RowLine;
      const known = handled.length > 0 && this.#options.wanted.has(name) ? this.#tables.get(name) : undefined;
      if (known === undefined) return [];
      const rowBytes = encodeRow(known.typed, known.typed.key.parse(row));
      return handled.flatMap(([observer, version, column, qualifier]) => {
        const cell = { table: name, row: rowBytes, column: columnPath(column, qualifier) };
        return this.#dueNames.has(handledName(observer, cell)) ? [] : [{ observer, version, cell }];
      });
    });
  }

  #dueOf(header: ExportHeader): readonly DueCell[] {
    const lines = (header.due ?? []).filter(({ table }) => this.#options.wanted.has(table));
    return lines.map((line) => dueCell(this.#tables.get(line.table)!.typed, line));
  }

  #ofLine(text: string): readonly ImportedCell[] {
    const line = parseLine(text) as Partial<RowLine> | undefined;
    const { table: name, row, cells, handled } = line ?? {};
    const known = name === undefined ? undefined : this.#tables.get(name);
    if (known === undefined || typeof row !== "string" || !Array.isArray(cells) || !areHandled(handled)) {
      throw new ExportDamagedError("it is not a row of a table in the header.");
    }
    if (!this.#options.wanted.has(known.typed.name)) return [];
    const key = known.typed.key.parse(row);
    encodeRow(known.typed, key);
    return cells.map((line) => {
      const cell = { ...cellFromLine(known.table, known.typed, line), row: key };
      checkValue(known, cell);
      return cell;
    });
  }
}

function handledName(observer: string, { table, row, column }: CellAddress): string {
  return [observer, table, ...[row, column].map((bytes) => Buffer.from(bytes).toString("base64"))].join(" ");
}

function areHandled(handled: unknown): boolean {
  if (handled === undefined) return true;
  return (
    Array.isArray(handled) &&
    handled.every(
      (each: unknown) =>
        Array.isArray(each) &&
        (each.length === 3 || each.length === 4) &&
        Number.isSafeInteger(each[1]) &&
        [each[0], ...each.slice(2)].every((part) => typeof part === "string"),
    )
  );
}

/**
 * Thrown if the module refuses a value. The class distinguishes this error from damage to the file.
 */
class RefusedValue extends InvalidValueError {}

/** Throws if the module's codec cannot decode the value, since the program could not read it. */
function checkValue({ declared }: ImportedTable, { column, row, value }: ImportedCell): void {
  const codec = declared?.columns.get(column.name)?.codec;
  if (codec === undefined) return;
  try {
    decodeValue({ ...column, codec }, row, value);
  } catch (error) {
    throw new RefusedValue((error as Error).message, { cause: error });
  }
}
