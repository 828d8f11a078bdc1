import {
  columnPath,
  decodeRow,
  definition,
  encodeRow,
  type TableDefinition,
  tableFromDescription,
} from "../../schema/index.js";
import type { Position } from "../../store/index.js";
import { after, type CommittedRow, type Snapshot } from "../../transaction/index.js";
import type { BlockBuilder } from "./block-builder.js";
import { cellToLine, partsOf } from "./cell-text.js";
import type { CellLine, ExportHeader, RowLine } from "./format.js";

/** Bytes of values, or count of cells, after which a row continues on another line. */
const lineBytes = 262_144;
const lineCells = 1_000;

/**
 * Yields the blocks of an export as they fill. To continue a file that was cut, give its last line
 * as `last`: the blocks then begin after it. The ends of lines and blocks depend only on the cells.
 * A continued export is therefore identical to an uninterrupted one.
 */
export async function* exportBlocks(
  snapshot: Snapshot,
  header: ExportHeader,
  builder: BlockBuilder,
  last?: RowLine,
): AsyncGenerator<Buffer> {
  const first = last === undefined ? 0 : header.tables.findIndex(({ name }) => name === last.table);
  for (const description of header.tables.slice(first)) {
    const table = tableFromDescription(description)[definition];
    const from = last?.table === table.name ? positionAfter(table, last) : undefined;
    const lines = new Lines(table);
    for await (const rows of snapshot.cells(table.name, from)) {
      for (const row of rows) {
        for (const line of lines.add(row)) {
          builder.add(line, line.cells.length);
          if (builder.isFull) yield builder.take();
        }
      }
    }
    const rest = lines.take();
    if (rest !== undefined) builder.add(rest, rest.cells.length);
  }
  if (!builder.isEmpty) yield builder.take();
}

/** Turns rows into lines. The input may divide a wide row into several parts. */
class Lines {
  readonly #table: TableDefinition;
  #row: Buffer = Buffer.alloc(0);
  #cells: CellLine[] = [];
  #bytes = 0;

  constructor(table: TableDefinition) {
    this.#table = table;
  }

  /** Yields the lines that are complete. */
  *add({ row, cells }: CommittedRow): Generator<RowLine> {
    if (Buffer.compare(row, this.#row) !== 0) {
      const before = this.take();
      if (before !== undefined) yield before;
      this.#row = Buffer.from(row);
    }
    for (const { column, value } of cells) {
      if (value === undefined) continue;
      if (this.#cells.length >= lineCells || (this.#bytes > 0 && this.#bytes + value.length > lineBytes)) {
        yield this.take()!;
      }
      this.#cells.push(cellToLine(this.#table, column, value));
      this.#bytes += value.length;
    }
  }

  /** Returns the cells held so far as a line, or undefined if there are none. */
  take(): RowLine | undefined {
    if (this.#cells.length === 0) return undefined;
    const { name, key } = this.#table;
    const line = { table: name, row: key.format(decodeRow(this.#table, this.#row)), cells: this.#cells };
    this.#cells = [];
    this.#bytes = 0;
    return line;
  }
}

/** Returns the position after a line's last cell. */
function positionAfter(table: TableDefinition, { row, cells }: RowLine): Position {
  const { name, qualifier } = partsOf(cells.at(-1)!);
  return { row: encodeRow(table, table.key.parse(row)), column: after(columnPath(name, qualifier)) };
}
