import {
  type AnyTable,
  definition,
  encodePrefix,
  encodeRow,
  parsePath,
  parsePrefixText,
  parseRowText,
  type TableDefinition,
} from "../../schema/index.js";
import { after, type CommittedCell, type Snapshot } from "../../transaction/index.js";
import type { CellShown, RowDetail, RowShown, RowsPage } from "../api.js";
import { columnText, rowText } from "../text/cells.js";
import type { KnownTables } from "../text/tables.js";
import { valueShown } from "../text/values.js";
import type { ViewContext } from "./context.js";

/** Limits in a list of rows: characters of a value, and cells of a row. */
const maxOfValue = 200;
const maxCells = 100;
/** The same limits if one row is shown. */
const maxOfWholeValue = 100_000;
const maxWholeCells = 1_000;
/** Characters of all values of one row together. */
const maxOfRow = 4_000_000;

export interface RowsRequest {
  readonly table: AnyTable;
  readonly prefix: string | undefined;
  /** The last row of the page before. */
  readonly after: string | undefined;
  readonly limit: number;
  readonly at: number | Date | undefined;
}

/** An encoded row, with the cells of it that are shown. */
interface FoundRow {
  readonly row: Uint8Array;
  readonly cells: CellShown[];
}

/** A page of the rows of a table, as of `at`. */
export async function rows(
  context: ViewContext,
  request: RowsRequest,
  signal: AbortSignal,
): Promise<RowsPage> {
  const { table, limit, at } = request;
  const defined = table[definition];
  const tables = await context.tables.current();
  const prefix = request.prefix === undefined ? undefined : prefixBytes(defined, request.prefix);
  await using snapshot = await context.db.snapshot({ at, signal });
  const walk = new RowWalk(snapshot, defined, maxCells, maxOfValue);
  const found: FoundRow[] = [];
  for await (const row of walk.from(startOf(defined, request, prefix))) {
    if (prefix !== undefined && !startsWith(row.row, prefix)) break;
    found.push(row);
    if (found.length > limit) break;
  }
  const shown = found.slice(0, limit).map((row) => rowShown(tables, defined, row));
  return {
    table: defined.name,
    at: snapshot.timestamp,
    columns: [...defined.columns.values()].filter(({ kind }) => kind !== "signal").map(({ name }) => name),
    rows: shown,
    next: found.length > limit ? shown.at(-1)?.row : undefined,
  };
}

/** One row, as of `at`; it has no cells if it does not exist. */
export async function row(
  context: ViewContext,
  request: { readonly table: AnyTable; readonly row: string; readonly at: number | Date | undefined },
  signal: AbortSignal,
): Promise<RowDetail> {
  const defined = request.table[definition];
  const tables = await context.tables.current();
  const wanted = encodeRow(defined, parseRowText(defined, request.row));
  await using snapshot = await context.db.snapshot({ at: request.at, signal });
  const walk = new RowWalk(snapshot, defined, maxWholeCells, maxOfWholeValue);
  let found: FoundRow = { row: wanted, cells: [] };
  for await (const first of walk.from(wanted)) {
    if (Buffer.compare(first.row, wanted) === 0) found = first;
    break;
  }
  return { table: defined.name, at: snapshot.timestamp, ...rowShown(tables, defined, found) };
}

function prefixBytes(table: TableDefinition, text: string): Uint8Array {
  return encodePrefix(table, parsePrefixText(table, text));
}

function startOf(
  table: TableDefinition,
  request: RowsRequest,
  prefix: Uint8Array | undefined,
): Uint8Array | undefined {
  if (request.after === undefined) return prefix;
  const behind = after(encodeRow(table, parseRowText(table, request.after)));
  return prefix !== undefined && Buffer.compare(prefix, behind) > 0 ? prefix : behind;
}

function startsWith(bytes: Uint8Array, prefix: Uint8Array): boolean {
  return Buffer.compare(bytes.subarray(0, prefix.length), prefix) === 0;
}

/** Walks through rows. Of a wide row it reads only the cells that are shown. */
class RowWalk {
  readonly #snapshot: Snapshot;
  readonly #table: TableDefinition;
  readonly #maxCells: number;
  readonly #maxOfValue: number;
  #open: FoundRow | undefined;
  #length = 0;

  constructor(snapshot: Snapshot, table: TableDefinition, maxCells: number, maxOfValue: number) {
    this.#snapshot = snapshot;
    this.#table = table;
    this.#maxCells = maxCells;
    this.#maxOfValue = maxOfValue;
  }

  async *from(start: Uint8Array | undefined): AsyncGenerator<FoundRow> {
    let next = start;
    for (let isOver = false; !isOver; ) {
      const skip = yield* this.#walk(next);
      isOver = skip === undefined;
      next = skip;
    }
    if (this.#open !== undefined && this.#open.cells.length > 0) yield this.#open;
  }

  /** Walks until a row is wider than is shown, and returns where the next row begins. */
  async *#walk(start: Uint8Array | undefined): AsyncGenerator<FoundRow, Uint8Array | undefined> {
    const from = start === undefined ? undefined : { row: start };
    for await (const page of this.#snapshot.cells(this.#table.name, from, pageRows)) {
      for (const { row, cells } of page) {
        if (this.#open === undefined || Buffer.compare(this.#open.row, row) !== 0) {
          if (this.#open !== undefined && this.#open.cells.length > 0) yield this.#open;
          this.#open = { row: Buffer.from(row), cells: [] };
          this.#length = 0;
        }
        if (!this.#take(this.#open, cells)) {
          const full = this.#open;
          this.#open = undefined;
          yield full;
          return after(full.row);
        }
      }
    }
    return undefined;
  }

  /** False if no more of the row is shown. */
  #take(open: FoundRow, cells: readonly CommittedCell[]): boolean {
    for (const { column, value } of cells) {
      if (value === undefined) continue;
      if (open.cells.length === this.#maxCells || this.#length > maxOfRow) return false;
      const codec = this.#table.columns.get(parsePath(column).name)?.codec;
      const shown = { column: columnText(column), value: valueShown(codec, value, this.#maxOfValue) };
      this.#length += shown.value.text.length;
      open.cells.push(shown);
    }
    return true;
  }
}

/** Rows read with one request to the store. */
const pageRows = 32;

/** Cells in the order of the table's columns. */
function rowShown(tables: KnownTables, table: TableDefinition, { row, cells }: FoundRow): RowShown {
  const places = new Map([...table.columns.keys()].map((name, place) => [name, place]));
  const place = ({ column }: CellShown) => places.get(column.split(":")[0]!) ?? places.size;
  return { row: rowText(tables, table.name, row), cells: cells.toSorted((a, b) => place(a) - place(b)) };
}
