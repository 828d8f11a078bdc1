import { acknowledgmentPrefix, decodeAcknowledgment, parseRecordColumn } from "../../observer/index.js";
import {
  columnPath,
  decodeRow,
  definition,
  encodeRow,
  parsePath,
  type TableDefinition,
  tableFromDescription,
} from "../../schema/index.js";
import type { Position } from "../../store/index.js";
import {
  after,
  type CommittedRow,
  type Snapshot,
  systemColumnMark,
  userAndObserverColumns,
} from "../../transaction/index.js";
import type { BlockBuilder } from "./block-builder.js";
import { cellToLine, partsOf } from "./cell-text.js";
import type { CellLine, ExportHeader, HandledLine, RowLine } from "./format.js";

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
    for await (const rows of snapshot.cells(table.name, from, { columns: userAndObserverColumns })) {
      for (const row of rows) {
        for (const line of lines.add(row)) {
          builder.add(line.text, line.cells);
          if (builder.isFull) yield builder.take();
        }
      }
    }
    for (const line of lines.take()) {
      builder.add(line.text, line.cells);
      if (builder.isFull) yield builder.take();
    }
  }
  if (!builder.isEmpty) yield builder.take();
}

/** A line of an export, and the count of its cells. */
interface LineText {
  readonly text: string;
  readonly cells: number;
}

/** Turns rows into lines. The input may divide a wide row into several parts. */
class Lines {
  readonly #table: TableDefinition;
  #row: Buffer = Buffer.alloc(0);
  /** Cells, and acknowledgments, as JSON. */
  #cells: string[] = [];
  #handled: string[] = [];
  #bytes = 0;

  constructor(table: TableDefinition) {
    this.#table = table;
  }

  /** Yields the lines that are complete. */
  *add({ row, cells }: CommittedRow): Generator<LineText> {
    if (Buffer.compare(row, this.#row) !== 0) {
      yield* this.take();
      this.#row = Buffer.from(row);
    }
    for (const { column, value } of cells) {
      if (value === undefined) continue;
      if (this.#addHandled(column, value)) {
        if (this.#handled.length >= lineCells) yield* this.take();
        continue;
      }
      // A column that is dropped, but not yet empty, is not in the header.
      if (!this.#table.columns.has(parsePath(column).name)) continue;
      const cell = JSON.stringify(cellToLine(this.#table, column, value) satisfies CellLine);
      // A compressed value is longer in the export than in the store.
      const bytes = Math.max(value.length, cell.length);
      if (this.#cells.length >= lineCells || (this.#bytes > 0 && this.#bytes + bytes > lineBytes)) {
        yield* this.take();
      }
      this.#cells.push(cell);
      this.#bytes += bytes;
    }
  }

  /** Keeps an acknowledgment. Returns false for any other column. */
  #addHandled(column: Uint8Array, value: Uint8Array): boolean {
    if (column[0] !== systemColumnMark) return false;
    const record = parseRecordColumn(column);
    if (record?.kind !== "acknowledgment") return true;
    const { name, qualifier } = parsePath(record.column);
    const { version } = decodeAcknowledgment(value);
    const { observer } = record;
    const line: HandledLine =
      qualifier === undefined ? [observer, version, name] : [observer, version, name, qualifier];
    this.#handled.push(JSON.stringify(line));
    return true;
  }

  /** Returns what is held so far as lines. */
  take(): readonly LineText[] {
    const [cells, handled] = [this.#cells, this.#handled];
    if (cells.length === 0 && handled.length === 0) return [];
    const { name, key } = this.#table;
    const row = { table: name, row: key.format(decodeRow(this.#table, this.#row)) };
    const beginning = JSON.stringify(row satisfies Omit<RowLine, "cells">).slice(0, -1);
    this.#cells = [];
    this.#handled = [];
    this.#bytes = 0;
    const lines: LineText[] = [];
    if (cells.length > 0) {
      lines.push({ text: `${beginning},"cells":[${cells.join(",")}]}`, cells: cells.length });
    }
    if (handled.length > 0) {
      lines.push({ text: `${beginning},"cells":[],"handled":[${handled.join(",")}]}`, cells: 0 });
    }
    return lines;
  }
}

/** Returns the position after a line's last cell, or after its last acknowledgment. */
function positionAfter(table: TableDefinition, { row, cells, handled = [] }: RowLine): Position {
  const last = handled.at(-1);
  const at = () => {
    if (last !== undefined) {
      const [observer, , column, qualifier] = last;
      return Buffer.concat([acknowledgmentPrefix(observer), columnPath(column, qualifier)]);
    }
    const { name, qualifier } = partsOf(cells.at(-1)!);
    return columnPath(name, qualifier);
  };
  return { row: encodeRow(table, table.key.parse(row)), column: after(at()) };
}
