import { type Column, decodeRow, decodeValue, parsePath, type Signal } from "../../schema/index.js";
import {
  type CellAddress,
  type CommittedCell,
  type CoreTransaction,
  SnapshotReader,
} from "../../transaction/index.js";
import type { ChangeParts } from "../change.js";
import { type Acknowledgment, decodeAcknowledgment } from "../hint/acknowledgment.js";
import type { Observer } from "../observer.js";
import type { RegisteredObserver } from "./registered.js";

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
export async function readCellStates(
  tx: { readonly reader: SnapshotReader },
  { table, row }: Pick<CellAddress, "table" | "row">,
  watched: readonly WatchedCell[],
  parkedOf: "all" | "first" = "all",
): Promise<readonly CellState[]> {
  if (watched.length === 0) return [];
  const places = watched.map(({ registered, cell: { column } }) => ({
    registered,
    column,
    acknowledgment: registered.acknowledgmentColumn(column),
    parked: registered.parkedColumn(column),
  }));
  const columns = places.flatMap(({ registered, column, acknowledgment, parked }, index) => {
    if (registered.isWeak) return [{ exact: parked }];
    const both = [{ exact: column }, { exact: acknowledgment }];
    return parkedOf === "all" || index === 0 ? [...both, { exact: parked }] : both;
  });
  const cells = await tx.reader.wholeRow(table, row, columns.sort(inOrder));
  return places.map(({ registered, column, acknowledgment, parked }) => {
    const changed = registered.isWeak ? undefined : find(cells, column);
    const acknowledged = registered.isWeak ? undefined : find(cells, acknowledgment);
    return {
      commit: changed?.commit ?? 0,
      value: changed?.value,
      acknowledgment: recordOf(registered, acknowledged),
      parked: recordOf(registered, find(cells, parked)),
      isOwnWrite: changed !== undefined && changed.commit === acknowledged?.commit,
    };
  });
}

function find(cells: readonly CommittedCell[], path: Uint8Array): CommittedCell | undefined {
  return cells.find((each) => Buffer.compare(each.column, path) === 0);
}

function inOrder(one: { readonly exact: Uint8Array }, other: { readonly exact: Uint8Array }): number {
  return Buffer.compare(one.exact, other.exact);
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
export async function readPrevious(
  tx: CoreTransaction,
  observer: Observer,
  cell: CellAddress,
  state: CellState,
): Promise<Buffer | undefined> {
  const { acknowledgment } = state;
  if (acknowledgment === undefined || !hasValues(observer)) return undefined;
  if (state.commit <= acknowledgment.start) return state.value;
  const reader = new SnapshotReader(tx.context, acknowledgment.start, { exempt: true, signal: tx.signal });
  const { cells } = await reader.row(cell.table, cell.row, [{ exact: cell.column }]);
  return cells[0]?.value;
}
