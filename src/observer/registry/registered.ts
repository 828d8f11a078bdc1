import type { AnyColumn, ColumnKind } from "../../schema/index.js";
import type { CellAddress, ColumnObserver, Hint } from "../../transaction/index.js";
import {
  acknowledgmentPrefix,
  decodeAcknowledgment,
  encodeAcknowledgment,
  parkedPrefix,
} from "../hint/acknowledgment.js";
import { hintAddress, hintPrefix } from "../hint/hint.js";
import type { Observer } from "../observer.js";
import type { BackfillState } from "./backfill-state.js";

/** The registry's record of an observer. */
export interface ObserverRecord {
  readonly name: string;
  readonly table: string;
  readonly column: string;
  readonly kind: ColumnKind;
  readonly version: number;
  /**
   * Commit timestamp of its registration. Every later commit of a cell that the observer watches
   * writes a hint for it.
   */
  readonly since: number;
  /** The unfinished backfills, one for each range. */
  readonly backfills: readonly BackfillState[];
}

export interface ExactColumn {
  readonly exact: Uint8Array;
}

/** Where an observer's records about one column are. */
interface RecordPaths {
  readonly acknowledgment: Buffer;
  readonly parked: Buffer;
  /** What a run reads: the column and both records, or only the parked record of a signal. Ascending. */
  readonly read: readonly ExactColumn[];
  /** The same without the parked record. */
  readonly readUnparked: readonly ExactColumn[];
}

/**
 * A registered observer. It knows which cells the observer watches, and the addresses of its
 * records about them.
 */
export class RegisteredObserver {
  readonly record: ObserverRecord;
  readonly name: string;
  readonly hintPrefix: Buffer;
  readonly acknowledgmentPrefix: Buffer;
  readonly parkedPrefix: Buffer;
  readonly #column: Buffer;
  readonly #isFamily: boolean;
  /** The paths of its only column, once they were needed. */
  #paths: RecordPaths | undefined;

  constructor(record: ObserverRecord) {
    this.record = record;
    this.name = record.name;
    this.hintPrefix = hintPrefix(record.name);
    this.acknowledgmentPrefix = acknowledgmentPrefix(record.name);
    this.parkedPrefix = parkedPrefix(record.name);
    this.#column = Buffer.from(record.column);
    this.#isFamily = record.kind === "family";
  }

  /** Whether it watches the column with this path in its table. */
  watches(path: Uint8Array): boolean {
    return watchesPath(this.#column, this.#isFamily, path);
  }

  get isWeak(): boolean {
    return this.record.kind === "signal";
  }

  /**
   * The hint for a cell. It has only the address of the cell, because hints live longer than the
   * transaction whose write `changed` may be.
   */
  hint(changed: CellAddress): Hint {
    const { table, row, column } = changed;
    const cell = { table, row, column };
    return { observer: this.name, address: hintAddress(this.hintPrefix, cell), cell };
  }

  acknowledgmentColumn(path: Uint8Array): Buffer {
    return this.recordPaths(path).acknowledgment;
  }

  parkedColumn(path: Uint8Array): Buffer {
    return this.recordPaths(path).parked;
  }

  /** Every run needs them, so those of an observer of one column are kept. */
  recordPaths(path: Uint8Array): RecordPaths {
    if (this.#isFamily || !this.watches(path)) return this.#newPaths(path);
    this.#paths ??= this.#newPaths(this.#column);
    return this.#paths;
  }

  #newPaths(column: Uint8Array): RecordPaths {
    const acknowledgment = Buffer.concat([this.acknowledgmentPrefix, column]);
    const parked = Buffer.concat([this.parkedPrefix, column]);
    const readUnparked = this.isWeak ? [] : [{ exact: column }, { exact: acknowledgment }];
    const read = [...readUnparked, { exact: parked }].sort(inOrder);
    return { acknowledgment, parked, read, readUnparked };
  }

  /** The view of this observer that garbage collection, checks and rebuilds need, for one column. */
  ofColumn(path: Uint8Array): ColumnObserver {
    const { name, record } = this;
    return {
      name,
      acknowledgment: this.acknowledgmentColumn(path),
      parked: this.parkedColumn(path),
      since: record.since,
      acknowledged: (value) => decodeAcknowledgment(value).start,
      acknowledging: (start) => encodeAcknowledgment({ start, version: record.version, chain: 0 }),
      passed: (row) => record.backfills.every((backfill) => hasPassed(backfill, row)),
    };
  }
}

/** Whether a backfill has passed a row: it has visited the row, or never will. */
function hasPassed(backfill: BackfillState, row: Uint8Array): boolean {
  const { start, end, cursor } = backfill;
  if (start !== undefined && Buffer.compare(row, start) < 0) return true;
  if (end !== undefined && Buffer.compare(row, end) >= 0) return true;
  return cursor !== undefined && Buffer.compare(row, cursor) < 0;
}

/** The order in which a store reads columns. */
export function inOrder(one: ExactColumn, other: ExactColumn): number {
  return Buffer.compare(one.exact, other.exact);
}

/** Whether a path is that of a column with this name, or of a cell of the family with this name. */
export function watchesPath(name: Uint8Array, isFamily: boolean, path: Uint8Array): boolean {
  const { length } = name;
  if (isFamily ? path[length] !== 0 : path.length !== length) return false;
  for (let index = 0; index < length; index++) if (path[index] !== name[index]) return false;
  return true;
}

/** Whether a record describes exactly this target. */
export function isOf(record: ObserverRecord, target: AnyColumn): boolean {
  return record.table === target.table.name && record.column === target.name && record.kind === target.kind;
}

/**
 * Whether a program's observer is the registered one. After `unregister`, another program may have given its name to an
 * observer of another column.
 */
export function isCurrent(
  registered: RegisteredObserver | undefined,
  { version, target }: Observer,
): registered is RegisteredObserver {
  return registered?.record.version === version && isOf(registered.record, target);
}

/** Explains why a program does not run one of its observers. `registered` is the observer of this name in the database. */
export function outdatedText(
  { name, version, target }: Observer,
  registered: RegisteredObserver | undefined,
): string {
  let why = "was unregistered";
  let own = `version ${version}`;
  if (registered !== undefined) {
    const { kind, table, column, version: current } = registered.record;
    const isOther = !isOf(registered.record, target);
    why = `is now registered ${isOther ? `for the ${kind} ${table}.${column}` : `in version ${current}`}`;
    if (isOther) own = `it for the ${target.kind} ${target.table.name}.${target.name}`;
  }
  return `Observer "${name}" ${why}; this program has ${own} and no longer runs it.`;
}
