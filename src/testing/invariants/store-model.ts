import {
  loadRowsPrefix,
  parkedTable,
  parseHintRow,
  parseRecordColumn,
  registryRows,
} from "../../observer/index.js";
import {
  asBuffer,
  byteString,
  commitTimestamp,
  type Mutation,
  type Part,
  type RowMutation,
  readTimestamp,
  rowAt,
} from "../../store/index.js";
import {
  decodeLock,
  decodeStatus,
  decodeWrite,
  feedTable,
  hintTable,
  isSystemTable,
  safepointCell,
  systemColumnMark,
  systemTable,
} from "../../transaction/index.js";
import { CellModel, type CellVersion, isPublished, type RowModel } from "./cell-model.js";
import type { HintModel } from "./hint-model.js";
import type { Step } from "./step.js";

const none: readonly number[] = [];

const firstRegistryRow = byteString(registryRows.start);
const endOfRegistryRows = byteString(registryRows.end);
/** Rows of the system table that transactions write, besides the registry's. */
const transactionalRows = [loadRowsPrefix, "expiry/", "pass/"].map((prefix) =>
  byteString(Buffer.from(prefix)),
);
const safepointRow = byteString(safepointCell.row);

/**
 * A model of what the store must contain. It is built from the changes sent to the store, and knows
 * the committed value of every cell.
 */
export class StoreModel {
  readonly tables = new Map<string, Map<string, RowModel>>();
  /** The hints, by observer, row and column. */
  readonly hints = new Map<string, Map<string, HintModel>>();
  safepoint = 0;

  /** Applies the mutations that the store applied, and records their effects in `step`. */
  apply(rows: readonly RowMutation[], step: Step): void {
    for (const mutation of rows) {
      const { table, mutations } = mutation;
      if (mutations.length === 0) continue;
      const row = rowAt(mutation, step.commit ?? 0);
      if (table === hintTable) this.#applyHints(row, mutations, step);
      else if (!isTransactional(table, row)) this.#applyOwn(table, row, mutations);
      else this.#applyCells(this.row(table, row), mutations, step);
    }
  }

  row(table: string, row: Uint8Array): RowModel {
    let rows = this.tables.get(table);
    if (rows === undefined) {
      rows = new Map();
      this.tables.set(table, rows);
    }
    const key = byteString(row);
    let found = rows.get(key);
    if (found === undefined) {
      found = { table, row, key, cells: new Map(), isRegistry: table === systemTable && isRegistryRow(key) };
      rows.set(key, found);
    }
    return found;
  }

  cell(parent: RowModel, column: Uint8Array): CellModel {
    const key = byteString(column);
    let cell = parent.cells.get(key);
    if (cell === undefined) {
      const recordOf = column[0] === systemColumnMark ? parseRecordColumn(column) : undefined;
      cell = new CellModel(parent, key, column, recordOf);
      parent.cells.set(key, cell);
    }
    return cell;
  }

  /** Returns a cell that was written or read before. */
  find(table: string, row: string, column: string): CellModel | undefined {
    return this.tables.get(table)?.get(row)?.cells.get(column);
  }

  *cells(): Generator<CellModel, void> {
    for (const rows of this.tables.values()) for (const row of rows.values()) yield* row.cells.values();
  }

  hint(observer: string, row: string, column: string): HintModel {
    let hints = this.hints.get(observer);
    if (hints === undefined) {
      hints = new Map();
      this.hints.set(observer, hints);
    }
    // No byte has this character code, so the character cannot be part of either string.
    const key = `${row}\u0100${column}`;
    let hint = hints.get(key);
    if (hint === undefined) {
      hint = { observer, row, column, stamps: [] };
      hints.set(key, hint);
    }
    return hint;
  }

  #applyCells(row: RowModel, mutations: readonly Mutation[], step: Step): void {
    for (const mutation of mutations) {
      const cell = this.cell(row, mutation.column);
      const { part } = mutation;
      if (mutation.type === "put") {
        const timestamp = mutation.timestamp === commitTimestamp ? step.commit! : mutation.timestamp;
        put(cell, part, timestamp, mutation.value, step);
      } else remove(cell, part, mutation.from, mutation.to, step);
    }
  }

  #applyHints(row: Uint8Array, mutations: readonly Mutation[], step: Step): void {
    const parsed = parseHintRow(row);
    if (parsed === undefined) return;
    const rowKey = byteString(parsed.row);
    for (const mutation of mutations) {
      if (mutation.part !== "write") continue;
      const hint = this.hint(parsed.observer, rowKey, byteString(mutation.column));
      if (mutation.type === "put") {
        const timestamp = mutation.timestamp === commitTimestamp ? step.commit! : mutation.timestamp;
        if (!hint.stamps.includes(timestamp)) hint.stamps.push(timestamp);
        continue;
      }
      const { from, to } = mutation;
      const gone = hint.stamps.filter((stamp) => from <= stamp && stamp < to);
      if (gone.length === 0) continue;
      hint.stamps = hint.stamps.filter((stamp) => stamp < from || stamp >= to);
      step.hintsRemoved.push({ hint, stamps: gone, upTo: to - 1 });
    }
  }

  /**
   * Applies mutations of the protocol's own tables, which no transaction writes. Only the safepoint
   * matters here.
   */
  #applyOwn(table: string, row: Uint8Array, mutations: readonly Mutation[]): void {
    if (table !== systemTable || byteString(row) !== safepointRow) return;
    for (const mutation of mutations)
      if (mutation.type === "put") this.safepoint = Math.max(this.safepoint, mutation.timestamp);
  }
}

/**
 * Whether transactions write the row. Of the protocol's own rows, they write the parked changes, the
 * entries of feeds, the registry, the owners and positions of bulk loads, and the records of passes
 * through tables and of expiry.
 */
export function isTransactional(table: string, row: Uint8Array): boolean {
  if (!isSystemTable(table) || table === parkedTable || table === feedTable) return true;
  if (table !== systemTable) return false;
  const key = byteString(row);
  return isRegistryRow(key) || transactionalRows.some((prefix) => key.startsWith(prefix));
}

function isRegistryRow(key: string): boolean {
  return key >= firstRegistryRow && key < endOfRegistryRows;
}

function put(cell: CellModel, part: Part, timestamp: number, value: Uint8Array, step: Step): void {
  switch (part) {
    case "lock":
      putLock(cell, timestamp, value, step);
      return;
    case "write":
      putWrite(cell, timestamp, value, step);
      return;
    case "data":
      cell.data.set(timestamp, value);
      return;
    case "txn": {
      const status = decodeStatus(value);
      cell.statuses.set(timestamp, status);
      step.statusesPut.push({ cell, of: { start: timestamp, status } });
    }
  }
}

function putLock(cell: CellModel, start: number, value: Uint8Array, step: Step): void {
  const standing = cell.lockOf(start);
  if (standing !== undefined) {
    standing.minCommit = readTimestamp(asBuffer(value), 0);
    return;
  }
  const record = decodeLock(value);
  const lock = { start, record, minCommit: record.minCommit };
  cell.locks.push(lock);
  step.locksPut.push({ cell, of: lock });
}

function putWrite(cell: CellModel, commit: number, bytes: Uint8Array, step: Step): void {
  const { start, kind, onePhase, loaded = false, value } = decodeWrite(bytes);
  if (loaded) {
    putLoaded(cell, commit, start, value, step);
    return;
  }
  const isDelete = kind === "delete";
  let version = cell.versions[cell.indexAt(commit)];
  if (version?.commit !== commit || version.start !== start) {
    const external = !isDelete && value === undefined;
    version = {
      commit,
      start,
      isDelete,
      onePhase,
      loaded: false,
      visibleFrom: commit,
      external,
      value,
      standing: true,
      pending: false,
      dropped: false,
    };
    cell.insert(version);
    step.committed.push({ cell, of: version });
  } else {
    version.standing = true;
    const isSame =
      version.isDelete === isDelete && (value === undefined || isSameValue(version.value, value));
    if (!isSame) step.changed.push({ cell, of: version });
  }
  step.written.push({ cell, of: version });
}

/**
 * Puts a version of a bulk load. A load may put the same bytes twice, if an answer was lost. `load`
 * identifies it.
 */
function putLoaded(
  cell: CellModel,
  commit: number,
  load: number,
  value: Uint8Array | undefined,
  step: Step,
): void {
  const index = cell.indexAt(commit);
  const known = cell.versions[index];
  const isKnown = known?.commit === commit && known.start === load;
  const external = value === undefined;
  if (
    isKnown &&
    known.standing &&
    known.external === external &&
    (external || isSameValue(known.value, value))
  )
    return;
  const visibleFrom = isKnown ? known.visibleFrom : Number.POSITIVE_INFINITY;
  const version: CellVersion = {
    commit,
    start: load,
    isDelete: false,
    onePhase: false,
    loaded: true,
    visibleFrom,
    external,
    value,
    standing: true,
    pending: false,
    dropped: false,
  };
  if (isKnown) cell.versions[index] = version;
  else cell.insert(version);
  step.loaded.push({ cell, of: version });
}

/** Whether two values have equal bytes. */
export function isSameValue(one: Uint8Array | undefined, other: Uint8Array | undefined): boolean {
  if (one === undefined || other === undefined) return one === other;
  return asBuffer(one).equals(other);
}

function remove(cell: CellModel, part: Part, from: number, to: number, step: Step): void {
  switch (part) {
    case "lock":
      for (const lock of cell.locks) {
        if (lock.start < from || lock.start >= to) continue;
        cell.locks = cell.locks.filter((each) => each !== lock);
        step.locksRemoved.push({ cell, of: lock });
      }
      return;
    case "write":
      for (let index = cell.indexAt(to); index >= 0; index--) {
        const version = cell.versions[index]!;
        if (version.commit < from) return;
        if (version.commit >= to || !version.standing) continue;
        version.standing = false;
        if (isPublished(version)) step.writesRemoved.push({ cell, of: version });
        else {
          cell.versions.splice(index, 1);
          step.unloaded.push({ cell, of: version });
        }
      }
      return;
    case "data":
      for (const start of timestampsIn(cell.data, from, to)) {
        cell.data.delete(start);
        step.dataRemoved.push({ cell, of: start });
      }
      return;
    case "txn":
      for (const start of timestampsIn(cell.statuses, from, to)) {
        cell.statuses.delete(start);
        step.statusesRemoved.push({ cell, of: start });
      }
  }
}

/** Returns the keys with `from <= timestamp < to`. Usually there is at most one. */
function timestampsIn(map: ReadonlyMap<number, unknown>, from: number, to: number): readonly number[] {
  if (map.size === 0) return none;
  if (to === from + 1) return map.has(from) ? [from] : none;
  return [...map.keys()].filter((timestamp) => from <= timestamp && timestamp < to);
}
