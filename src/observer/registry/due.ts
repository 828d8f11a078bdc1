import { type Column, decodeRow, decodeValue, parsePath, type Signal } from "../../schema/index.js";
import type { Columns, MaybePromise } from "../../store/index.js";
import {
  type CellAddress,
  type CommittedCell,
  type CoreTransaction,
  SnapshotReader,
} from "../../transaction/index.js";
import type { ChangeParts } from "../change.js";
import { type Acknowledgment, decodeAcknowledgment } from "../hint/acknowledgment.js";
import type { Observer } from "../observer.js";
import { inOrder, type RegisteredObserver } from "./registered.js";

/** What a transaction found about a cell and one observer, in one read of the row. */
export interface CellState {
  /** Commit timestamp of the newest change. 0 if there is none, and for a signal. */
  readonly commit: number;
  readonly value: Buffer | undefined;
  readonly acknowledgment: Acknowledgment | undefined;
  readonly parked: Acknowledgment | undefined;
  /** Whether the observer's own last run wrote the newest change. */
  readonly isOwnWrite: boolean;
}

/** A cell, and an observer that watches it. */
export interface WatchedCell {
  readonly registered: RegisteredObserver;
  readonly cell: CellAddress;
}

/** One observer's records about a cell. */
export type CellRecords = Pick<CellState, "acknowledgment" | "parked">;

/** Reads one observer's records about a cell, and not the cell, which may be damaged. */
export async function readRecords(
  tx: { readonly reader: SnapshotReader },
  registered: RegisteredObserver,
  { table, row, column }: CellAddress,
): Promise<CellRecords> {
  const acknowledgment = registered.acknowledgmentColumn(column);
  const parked = registered.parkedColumn(column);
  const columns = (registered.isWeak ? [parked] : [acknowledgment, parked]).map((exact) => ({ exact }));
  const cells = await tx.reader.wholeRow(table, row, columns.sort(inOrder));
  return {
    acknowledgment: recordOf(registered, find(cells, acknowledgment)),
    parked: recordOf(registered, find(cells, parked)),
  };
}

/**
 * Reads an observed cell and one observer's records about it, at a transaction's start or a
 * snapshot.
 */
export async function readCellState(
  tx: { readonly reader: SnapshotReader },
  registered: RegisteredObserver,
  cell: CellAddress,
): Promise<CellState> {
  const [state] = await readCellStates(tx, cell, [{ registered, cell }]);
  return state!;
}

/**
 * Reads the same of several cells of a row, in one read. With `"first"`, it reads the parked record of
 * only the first cell, and the states of the others are as if nothing were parked.
 */
export function readCellStates(
  tx: { readonly reader: SnapshotReader },
  { table, row }: Pick<CellAddress, "table" | "row">,
  watched: readonly WatchedCell[],
  parkedOf: "all" | "first" = "all",
): MaybePromise<readonly CellState[]> {
  if (watched.length === 0) return [];
  const statesIn = (cells: readonly CommittedCell[]) => watched.map((each) => stateIn(cells, each));
  const read = tx.reader.wholeRow(table, row, columnsOf(watched, parkedOf));
  return read instanceof Promise ? read.then(statesIn) : statesIn(read);
}

function stateIn(cells: readonly CommittedCell[], { registered, cell: { column } }: WatchedCell): CellState {
  const paths = registered.recordPaths(column);
  const changed = registered.isWeak ? undefined : find(cells, column);
  const acknowledged = registered.isWeak ? undefined : find(cells, paths.acknowledgment);
  return {
    commit: changed?.commit ?? 0,
    value: changed?.value,
    acknowledgment: recordOf(registered, acknowledged),
    parked: recordOf(registered, find(cells, paths.parked)),
    isOwnWrite: changed !== undefined && changed.commit === acknowledged?.commit,
  };
}

function columnsOf([first, ...others]: readonly WatchedCell[], parkedOf: "all" | "first"): Columns {
  const { read } = first!.registered.recordPaths(first!.cell.column);
  if (others.length === 0) return read;
  const further = others.flatMap(({ registered, cell }) => {
    const paths = registered.recordPaths(cell.column);
    return parkedOf === "all" ? paths.read : paths.readUnparked;
  });
  return [...read, ...further].sort(inOrder);
}

function find(cells: readonly CommittedCell[], path: Uint8Array): CommittedCell | undefined {
  return cells.find((each) => Buffer.compare(each.column, path) === 0);
}

/**
 * Decodes a record that belongs to the current registration. Records of an earlier observer with
 * the same name do not count.
 */
function recordOf(
  registered: RegisteredObserver,
  cell: CommittedCell | undefined,
): Acknowledgment | undefined {
  if (cell?.value === undefined) return undefined;
  const record = decodeAcknowledgment(cell.value);
  return record.start >= registered.record.since ? record : undefined;
}

/**
 * Whether an observer is due on a cell. It is due if the cell has changed since the observer dealt
 * with it, or if another version of the observer dealt with it. For a signal, it is due if no
 * change is parked, or if the hint is newer than the parked change.
 */
export function isDue(registered: RegisteredObserver, state: CellState, hint: number): boolean {
  const { acknowledgment, parked, commit } = state;
  if (registered.isWeak) return parked === undefined || hint > parked.start;
  if (commit === 0) return false;
  const last = parked !== undefined && parked.start > (acknowledgment?.start ?? 0) ? parked : acknowledgment;
  return last === undefined || commit > last.start || last.version !== registered.record.version;
}

/**
 * Returns the timestamp up to which the hints of a cell that is not due can be deleted. For a
 * column, that is `start`, the timestamp at which the cell was read. For a signal, it is at most
 * the start timestamp of the parked change. A signal stores no cell, so a read does not show
 * whether the signal was notified again later.
 */
export function handledUpTo(registered: RegisteredObserver, { parked }: CellState, start: number): number {
  return registered.isWeak ? Math.min(start, parked?.start ?? 0) : start;
}

/** Decodes what a run receives. Throws if the column's codec cannot read the stored bytes. */
export function describeChange(
  observer: Observer,
  cell: CellAddress,
  { value }: CellState,
  previous: Buffer | undefined,
): ChangeParts {
  const row = decodeRow(observer.target.table, cell.row);
  const column = columnOf(observer, cell);
  if (!hasValues(observer)) {
    return { row, value: undefined, previous: undefined, qualifier: undefined, column };
  }
  const decode = (bytes: Buffer | undefined) =>
    bytes === undefined ? undefined : decodeValue(column as Column<unknown, unknown>, row, bytes);
  return {
    row,
    value: decode(value),
    previous: decode(previous),
    qualifier: parsePath(cell.column).qualifier,
    column,
  };
}

/** Whether the observer's runs receive values. */
function hasValues({ target, group }: Observer): boolean {
  return target.kind !== "signal" && group === undefined;
}

/** The column handle for exactly this cell. */
function columnOf({ target }: Observer, cell: CellAddress): Column<unknown, unknown> | Signal<unknown> {
  if (target.kind !== "family") return target;
  return target.at(parsePath(cell.column).qualifier ?? "");
}

/**
 * The value at the last run, if the observer's runs receive it. Garbage collection keeps this version, so
 * the read may be below the safepoint.
 */
export function readPrevious(
  tx: CoreTransaction,
  observer: Observer,
  cell: CellAddress,
  state: CellState,
): MaybePromise<Buffer | undefined> {
  const { acknowledgment } = state;
  if (acknowledgment === undefined || !hasValues(observer)) return undefined;
  if (state.commit <= acknowledgment.start) return state.value;
  return readAt(tx, cell, acknowledgment.start);
}

async function readAt(
  tx: CoreTransaction,
  { table, row, column }: CellAddress,
  start: number,
): Promise<Buffer | undefined> {
  const reader = new SnapshotReader(tx.context, start, { exempt: true, signal: tx.signal });
  const { cells } = await reader.row(table, row, [{ exact: column }]);
  return cells[0]?.value;
}
