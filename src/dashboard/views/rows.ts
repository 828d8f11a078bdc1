import {
  definition,
  encodePrefixText,
  encodeRow,
  keyPartTags,
  parsePath,
  parseRowText,
  type TableDefinition,
} from "../../schema/index.js";
import { equalBytes } from "../../store/index.js";
import { after, type CommittedCell, type Snapshot, timestampToDate } from "../../transaction/index.js";
import type { CellShown, RowDetail, RowShown, RowsPage } from "../api/index.js";
import { columnText, rowText } from "../text/cells.js";
import type { KnownTables } from "../text/tables.js";
import { valueShown } from "../text/values.js";
import type { View, ViewContext } from "./context.js";
import { firstOf } from "./first-of.js";
import { writersOf } from "./writers.js";

const usualRows = 50;
const maxRows = 200;
/** Rows read with one request to the store. */
const pageRows = 32;
/** After this many characters of its values, a row shows no more cells. */
const maxOfRow = 4_000_000;

/** The latest time that a `Date` can hold. */
const maxTime = 8.64e15;

/** How much of a row is shown: cells, and characters of a value. */
interface Bounds {
  readonly maxCells: number;
  readonly maxOfValue: number;
}

const inList: Bounds = { maxCells: 100, maxOfValue: 200 };
const alone: Bounds = { maxCells: 1_000, maxOfValue: 100_000 };

/** Milliseconds from the commit of a cell of a column until it expires. Undefined: it does not. */
type TimeToLive = (column: string) => number | undefined;

/**
 * The times after which the cells of a table expire, as the database has recorded them: sweeps know
 * no others. A version of the past does not expire any more.
 */
async function timesToLive({ db }: ViewContext, table: TableDefinition, isNow: boolean): Promise<TimeToLive> {
  if (!isNow) return () => undefined;
  const recorded = (await db.tables()).get(table.name)?.[definition].columns;
  return (column) => recorded?.get(column)?.ttlMs ?? undefined;
}

/** An encoded row, with the cells of it that are shown. */
interface FoundRow {
  readonly row: Uint8Array;
  readonly cells: readonly CellShown[];
  /** When each of these cells was committed. */
  readonly commits: ReadonlyMap<CellShown, number>;
  /** Whether it has more cells. */
  readonly isCut: boolean;
}

/** A page of the rows of a table. */
export const rows: View<RowsPage> = async (context, given, signal) => {
  const table = (await given.table())[definition];
  const prefixText = given.text("prefix");
  const prefix = prefixText === undefined ? undefined : encodePrefixText(table, prefixText);
  const start = startOf(table, prefix, given.key("after"));
  const limit = given.limit(usualRows, maxRows);
  const tables = await context.tables.get();
  await using snapshot = await context.db.snapshot({ at: given.at(), signal });
  const expiring = await timesToLive(context, table, given.at() === undefined);
  const isMeant = (row: Uint8Array) =>
    prefix === undefined || equalBytes(row.subarray(0, prefix.length), prefix);
  const { first, isMore } = await firstOf(walk(snapshot, table, inList, expiring, start, isMeant), limit);
  const shown = first.map((found) => rowShown(tables, table, found));
  return {
    table: table.name,
    at: snapshot.timestamp,
    columns: [...table.columns.values()].filter(({ kind }) => kind !== "signal").map(({ name }) => name),
    keyParts: keyPartTags(table)?.length,
    keyKinds: keyPartTags(table),
    rows: shown,
    next: isMore ? shown.at(-1)?.row : undefined,
  };
};

/** One row. If it does not exist, it has no cells. */
export const row: View<RowDetail> = async (context, given, signal) => {
  const table = (await given.table())[definition];
  const wanted = encodeRow(table, parseRowText(table, given.needed("row")));
  const tables = await context.tables.get();
  await using snapshot = await context.db.snapshot({ at: given.at(), signal });
  const expiring = await timesToLive(context, table, given.at() === undefined);
  let found: FoundRow = { row: wanted, cells: [], commits: new Map(), isCut: false };
  const isMeant = (row: Uint8Array) => equalBytes(row, wanted);
  for await (const first of walk(snapshot, table, alone, expiring, wanted, isMeant)) {
    found = first;
    break;
  }
  const writerOf = await writersOf(context.gathered, [...new Set(found.commits.values())]);
  const shown = rowShown(tables, table, found);
  const cells = shown.cells.map((cell) => {
    const commit = found.commits.get(cell)!;
    return { ...cell, writtenAt: timestampToDate(commit).getTime(), writer: writerOf(commit) };
  });
  return { table: table.name, at: snapshot.timestamp, ...shown, cells };
};

function startOf(
  table: TableDefinition,
  prefix: Uint8Array | undefined,
  last: string | undefined,
): Uint8Array | undefined {
  if (last === undefined) return prefix;
  const behind = after(encodeRow(table, parseRowText(table, last)));
  return prefix !== undefined && Buffer.compare(prefix, behind) > 0 ? prefix : behind;
}

/**
 * The rows from `start` on that have cells, up to the first row that is not meant. Of a wide row it
 * reads only the cells that are shown.
 */
async function* walk(
  snapshot: Snapshot,
  table: TableDefinition,
  bounds: Bounds,
  expiring: TimeToLive,
  start: Uint8Array | undefined,
  isMeant: (row: Uint8Array) => boolean,
): AsyncGenerator<FoundRow> {
  let from = start;
  for (let isFull = true; isFull; ) {
    isFull = false;
    let open: OpenRow | undefined;
    for await (const { row, cells } of rowsFrom(snapshot, table.name, from)) {
      if (open === undefined || !equalBytes(open.row, row)) {
        if (open !== undefined && open.cells.length > 0) yield open;
        if (!isMeant(row)) return;
        open = new OpenRow(row, table, bounds, expiring);
      }
      open.take(cells);
      isFull = open.isCut;
      if (isFull) break;
    }
    if (open === undefined) return;
    if (open.cells.length > 0) yield open;
    from = after(open.row);
  }
}

async function* rowsFrom(snapshot: Snapshot, table: string, start: Uint8Array | undefined) {
  const from = start === undefined ? undefined : { row: start };
  for await (const page of snapshot.cells(table, from, { limit: pageRows })) yield* page;
}

/** A row whose cells are being read. */
class OpenRow implements FoundRow {
  readonly row: Uint8Array;
  readonly cells: CellShown[] = [];
  readonly commits = new Map<CellShown, number>();
  isCut = false;
  readonly #table: TableDefinition;
  readonly #bounds: Bounds;
  readonly #expiring: TimeToLive;
  #length = 0;

  constructor(row: Uint8Array, table: TableDefinition, bounds: Bounds, expiring: TimeToLive) {
    this.row = Buffer.from(row);
    this.#table = table;
    this.#bounds = bounds;
    this.#expiring = expiring;
  }

  /** Adds cells to the row, until it shows as much as its limits allow. */
  take(cells: readonly CommittedCell[]): void {
    for (const { column, commit, value } of cells) {
      if (value === undefined) continue;
      if (this.cells.length === this.#bounds.maxCells || this.#length > maxOfRow) {
        this.isCut = true;
        return;
      }
      const { name } = parsePath(column);
      const shown = valueShown(this.#table.columns.get(name)?.codec, value, this.#bounds.maxOfValue);
      this.#length += shown.text.length;
      const expiresAt =
        timestampToDate(commit).getTime() + (this.#expiring(name) ?? Number.POSITIVE_INFINITY);
      const cell = {
        column: columnText(column),
        value: shown,
        ...(expiresAt > maxTime ? {} : { expiresAt }),
      };
      this.cells.push(cell);
      this.commits.set(cell, commit);
    }
  }
}

/** Cells in the order of the table's columns. */
function rowShown(tables: KnownTables, table: TableDefinition, found: FoundRow): RowShown {
  const { row, cells, isCut } = found;
  const places = new Map([...table.columns.keys()].map((name, place) => [name, place]));
  const place = ({ column }: CellShown) => places.get(column.split(":")[0]!) ?? places.size;
  return {
    row: rowText(tables, table.name, row),
    cells: cells.toSorted((a, b) => place(a) - place(b)),
    isCut,
  };
}
