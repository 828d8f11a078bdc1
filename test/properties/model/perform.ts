import { PercolatorError, type Snapshot, type Transaction } from "percolatordb";
import { expect } from "vitest";
import type { LiveRow, Model } from "./model.js";
import {
  type EntriesChoice,
  type Operation,
  type Refused,
  refused,
  type ScanChoice,
  type ScanTarget,
} from "./operations.js";
import {
  type Cell,
  cellId,
  compareRows,
  compareText,
  docs,
  handleOf,
  pairs,
  type Row,
  type TableName,
  tableOf,
} from "./tables.js";

type Covers = (cell: Cell) => boolean;

/** The model of a transaction or a snapshot. */
export class ModelTransaction {
  readonly own = new Map<string, { readonly cell: Cell; readonly value: unknown }>();
  readonly signals = new Set<string>();
  readonly start: number;
  readonly serializable: boolean;
  /** What was certainly read, and what may have been read beyond it, depending on the pages. */
  readonly read: Covers[] = [];
  readonly perhapsRead: Covers[] = [];

  constructor(start: number, serializable = false) {
    this.start = start;
    this.serializable = serializable;
  }

  get view() {
    return { at: this.start, own: this.own };
  }

  set(cell: Cell, value: unknown): void {
    this.own.set(cellId(cell), { cell, value });
  }

  /** Whether the commit conflicts. "perhaps" if that depends on how far pages reached. */
  conflicts(model: Model): "yes" | "no" | "perhaps" {
    const written = (cell: Cell) => this.own.has(cellId(cell));
    if (model.changedSince(this.start, written)) return "yes";
    if (!this.serializable || (this.own.size === 0 && this.signals.size === 0)) return "no";
    const read = model.changedSince(this.start, (cell) => this.read.some((covers) => covers(cell)));
    const perhaps = model.changedSince(this.start, (cell) => this.perhapsRead.some((covers) => covers(cell)));
    // A transaction that only notifies writes no cell. If a cell that it read has changed, it may
    // conflict or commit: both outcomes are allowed.
    if (this.own.size === 0) return read || perhaps ? "perhaps" : "no";
    return read ? "yes" : perhaps ? "perhaps" : "no";
  }
}

/** Performs an operation in the model and in the database, and compares the answers. */
export async function perform(
  model: Model,
  mine: ModelTransaction,
  real: Transaction | Snapshot,
  operation: Operation,
): Promise<void> {
  switch (operation.do) {
    case "get": {
      const { cell } = operation;
      mine.read.push((other) => cellId(other) === cellId(cell));
      expect(await real.get(handleOf(cell), cell.row)).toEqual(model.value(mine.view, cell));
      return;
    }
    case "getMany": {
      const ids = new Set(operation.cells.map(cellId));
      mine.read.push((cell) => ids.has(cellId(cell)));
      const rows = operation.cells.map((cell) => cell.row as string);
      const expected = operation.cells.map((cell) => model.value(mine.view, cell));
      expect(await real.getMany(docs.title, rows)).toEqual(expected);
      return;
    }
    case "row": {
      const { table, row } = operation;
      mine.read.push((cell) => inRow(cell, table, row));
      const found = model.live(mine.view, table).find((each) => compareRows(each.row, row) === 0);
      const answer = await (table === "docs"
        ? real.row(docs, row as string)
        : real.row(pairs, row as [string, number]));
      expect(answer).toEqual(found === undefined ? undefined : rowObject(table, found));
      return;
    }
    case "scan":
      return scan(model, mine, real, operation.target, operation.choice);
    case "entries":
      return entries(model, mine, real, operation.row, operation.choice);
    default:
      return write(model, mine, real as Transaction, operation);
  }
}

async function write(
  model: Model,
  mine: ModelTransaction,
  real: Transaction,
  operation: Extract<Operation, { do: "set" | "delete" | "deleteRow" | "notify" | "refused" }>,
): Promise<void> {
  switch (operation.do) {
    case "set":
      real.set(handleOf(operation.cell), operation.cell.row, operation.value);
      mine.set(operation.cell, operation.value);
      return;
    case "delete":
      real.delete(handleOf(operation.cell), operation.cell.row);
      mine.set(operation.cell, undefined);
      return;
    case "deleteRow": {
      const { table, row } = operation;
      mine.read.push((cell) => inRow(cell, table, row));
      await (table === "docs"
        ? real.deleteRow(docs, row as string)
        : real.deleteRow(pairs, row as [string, number]));
      const found = model.live(mine.view, table).find((each) => compareRows(each.row, row) === 0);
      for (const { cell } of found?.cells ?? []) mine.set(cell, undefined);
      return;
    }
    case "notify":
      real.notify(docs.poke, operation.row);
      mine.signals.add(operation.row);
      return;
    case "refused":
      expect(await codeOf(() => misuse(real, operation.what))).toBe(refused[operation.what]);
  }
}

const inRow = (cell: Cell, table: TableName, row: Row) =>
  tableOf(cell) === table && compareRows(cell.row, row) === 0;

/**
 * Returns the code of a thrown error, or undefined if there is none. Errors that are not of the
 * package are thrown on.
 */
export async function codeOf(use: () => unknown): Promise<string | undefined> {
  try {
    await use();
    return undefined;
  } catch (error) {
    if (!(error instanceof PercolatorError)) throw error;
    return error.code;
  }
}

function misuse(tx: Transaction, what: Refused): unknown {
  switch (what) {
    case "a lone surrogate as a row":
      return tx.set(docs.title, "a\ud800", "x");
    case "a row too long":
      return tx.set(docs.title, "\0".repeat(751), "x");
    case "a row and qualifier too long":
      return tx.set(docs.tags.at("q".repeat(1_000)), "r".repeat(501), "x");
    case "a value of another type":
      return tx.set(docs.size, "a", 1.5);
    case "a value that JSON cannot carry":
      return tx.set(pairs.value, ["a", 0], { at: new Date(0) });
    case "a limit below 0":
      return tx.scan(docs, { limit: -1 });
    case "a signal that is set":
      return tx.set(docs.poke as never, "a", 1 as never);
  }
}

/** Returns a row as `row` and `scan` of a table return it. */
function rowObject(table: TableName, { cells }: LiveRow): object {
  const object: Record<string, unknown> = table === "docs" ? { tags: new Map() } : {};
  for (const { cell, value } of cells) {
    if (cell.column === "tags") (object.tags as Map<string, unknown>).set(cell.qualifier ?? "", value);
    else object[cell.column] = value;
  }
  return object;
}

const isTable = (target: ScanTarget): target is TableName => target === "docs" || target === "pairs";

const targets = {
  title: docs.title,
  size: docs.size,
  tags: docs.tags,
  docs,
  value: pairs.value,
  pairs,
} as const;

async function scan(
  model: Model,
  mine: ModelTransaction,
  real: Transaction | Snapshot,
  target: ScanTarget,
  choice: ScanChoice,
): Promise<void> {
  const table: TableName = target === "value" || target === "pairs" ? "pairs" : "docs";
  const isWanted = (cell: Cell) => tableOf(cell) === table && (isTable(target) || cell.column === target);
  const matching = model
    .live(mine.view, table)
    .map((row) => ({ row: row.row, cells: row.cells.filter(({ cell }) => isWanted(cell)) }))
    .filter((row) => row.cells.length > 0 && inRange(row.row, choice));
  if (choice.reverse) matching.reverse();
  const shown = matching.slice(0, choice.limit ?? matching.length);
  const expected = shown.map((row) => ({ row: row.row, value: scanValue(target, table, row) }));
  const { prefix, ...rest } = choice;
  const options = { ...rest, prefix: table === "pairs" && prefix !== undefined ? [prefix] : prefix };
  const answer = await gather(real.scan(targets[target] as never, options as never));
  expect(answer).toEqual(expected);
  if (table === "docs" && target === "tags") for (const item of answer) expectSorted(item);
  const wholly = (cell: Cell) => isWanted(cell) && inRange(cell.row, choice);
  recordRead(mine, wholly, choice.limit, shown.length, (cell) => {
    const last = shown.at(-1);
    if (last === undefined) return false;
    return choice.reverse ? compareRows(cell.row, last.row) >= 0 : compareRows(cell.row, last.row) <= 0;
  });
}

function expectSorted(item: { readonly value?: unknown }): void {
  const names = [...(item.value as Map<string, unknown>).keys()];
  expect(names).toEqual([...names].sort(compareText));
}

/** Records what was read. A read that reached its limit may have read beyond its last answer. */
function recordRead(
  mine: ModelTransaction,
  wholly: Covers,
  limit: number | undefined,
  shown: number,
  isShown: Covers,
): void {
  if (limit === 0) return;
  if (limit === undefined || shown < limit) mine.read.push(wholly);
  else {
    mine.read.push((cell) => wholly(cell) && isShown(cell));
    mine.perhapsRead.push(wholly);
  }
}

function scanValue(target: ScanTarget, table: TableName, row: LiveRow): unknown {
  if (isTable(target)) return rowObject(table, row);
  if (target !== "tags") return row.cells[0]?.value;
  return new Map(row.cells.map(({ cell, value }) => [cell.qualifier ?? "", value]));
}

function inRange(row: Row, { prefix, start, end }: ScanChoice): boolean {
  if (prefix !== undefined && !(typeof row === "string" ? row.startsWith(prefix) : row[0] === prefix))
    return false;
  if (start !== undefined && compareRows(row, start) < 0) return false;
  return end === undefined || compareRows(row, end) < 0;
}

async function entries(
  model: Model,
  mine: ModelTransaction,
  real: Transaction | Snapshot,
  row: string,
  choice: EntriesChoice,
): Promise<void> {
  const isWanted = ({ row: other, column, qualifier = "" }: Cell) =>
    column === "tags" && other === row && qualifierInRange(qualifier, choice);
  const found = model.live(mine.view, "docs").find((each) => each.row === row);
  const matching = (found?.cells ?? []).filter(({ cell }) => isWanted(cell));
  const shown = matching.slice(0, choice.limit ?? matching.length);
  const expected = shown.map(({ cell, value }) => ({ qualifier: cell.qualifier, value }));
  expect(await gather(real.entries(docs.tags, row, choice))).toEqual(expected);
  recordRead(mine, isWanted, choice.limit, shown.length, (cell) => {
    const last = shown.at(-1)?.cell.qualifier ?? "";
    return compareText(cell.qualifier ?? "", last) <= 0;
  });
}

function qualifierInRange(qualifier: string, { prefix, start, end }: EntriesChoice): boolean {
  if (prefix !== undefined && !qualifier.startsWith(prefix)) return false;
  if (start !== undefined && compareText(qualifier, start) < 0) return false;
  return end === undefined || compareText(qualifier, end) < 0;
}

export async function gather<T>(items: AsyncIterable<T>): Promise<T[]> {
  const gathered: T[] = [];
  for await (const item of items) gathered.push(item);
  return gathered;
}
