import { LimitExceededError } from "../errors/index.js";
import { writeTimestamp } from "./bytes.js";
import type { Columns, Part } from "./cell.js";

/**
 * A placeholder for the commit timestamp, in the mutations and `present` guards of an
 * {@link AtomicBatch}. The store replaces it with the timestamp that it takes from its counter for
 * the batch.
 */
export const commitTimestamp = -1;

/**
 * The timestamp that a store gives out after `last`. `nowMs` is the wall clock.
 *
 * @throws LimitExceededError if it is not a safe integer.
 */
export function nextTimestamp(last: number, nowMs: number): number {
  const next = Math.max(last + 1, Math.floor(nowMs * 1_000));
  if (Number.isSafeInteger(next)) return next;
  throw new LimitExceededError(
    `The clock shows ${nowMs} ms since 1970, but timestamps end in the year 2255. Correct the clock, and try again.`,
  );
}

/**
 * Holds if the column has no version of `part` with `from <= timestamp < to`. `to` may be Infinity.
 */
export interface AbsentGuard {
  readonly type: "absent";
  readonly column: Uint8Array;
  readonly part: Part;
  readonly from: number;
  readonly to: number;
}

/** Holds if the column has a version of `part` at exactly `at`. */
export interface PresentGuard {
  readonly type: "present";
  readonly column: Uint8Array;
  readonly part: Part;
  readonly at: number;
  /** If given, the version's value must equal this. */
  readonly equals?: Uint8Array | undefined;
  /** If given, the version's value must be less than this, compared byte by byte. */
  readonly below?: Uint8Array | undefined;
}

/**
 * A condition on the row that a mutation changes. The paper calls this a conditional mutation
 * (section 2.5).
 */
export type Guard = AbsentGuard | PresentGuard;

/** Writes a version of a part of a cell. It replaces a version with the same timestamp. */
export interface PutMutation {
  readonly type: "put";
  readonly column: Uint8Array;
  readonly part: Part;
  readonly timestamp: number;
  readonly value: Uint8Array;
}

/** Deletes every version of `part` with `from <= timestamp < to`. `to` may be Infinity. */
export interface DeleteMutation {
  readonly type: "delete";
  readonly column: Uint8Array;
  readonly part: Part;
  readonly from: number;
  readonly to: number;
}

/** One change of a cell's versions. */
export type Mutation = PutMutation | DeleteMutation;

/**
 * Mutations of one row, which the store applies atomically and in order if all guards hold. The
 * caller must not change the buffers after it has passed them to a store.
 */
export interface RowMutation {
  readonly table: string;
  readonly row: Uint8Array;
  readonly guards: readonly Guard[];
  readonly mutations: readonly Mutation[];
  /**
   * In an {@link AtomicBatch}: whether the store replaces the last 8 bytes of the row by the commit
   * timestamp, most significant byte first. Such rows sort in the order of their commits. A stamped
   * mutation has no guards. Default: false.
   */
  readonly stamped?: boolean | undefined;
}

/** Bytes of the timestamp at the end of a stamped row. */
export const stampBytes = 8;

/** The row of a mutation that commits at `commit`. */
export function rowAt({ row, stamped }: RowMutation, commit: number): Uint8Array {
  if (stamped !== true) return row;
  const copy = row.slice();
  writeTimestamp(copy, copy.length - stampBytes, commit);
  return copy;
}

/**
 * The answer to a mutation.
 *
 * - `applied`: the store applied all of it.
 * - `rejected`: a guard did not hold, and the store applied nothing.
 * - `unknown`: no answer came. The store may have applied it, or may apply it later. Never treat
 *   `unknown` as `rejected`.
 */
export type MutationAnswer = "applied" | "rejected" | "unknown";

/**
 * Holds if no cell of the range has a version of `part` with `from <= timestamp < to`, for any
 * entry of `absent`.
 */
export interface RangeGuard {
  readonly table: string;
  /** Start of the range, inclusive. Default: the table's first row. */
  readonly start?: Uint8Array | undefined;
  /** End of the range, exclusive. Default: the table's end. */
  readonly end?: Uint8Array | undefined;
  readonly columns: Columns;
  readonly absent: readonly { readonly part: Part; readonly from: number; readonly to: number }[];
}

/**
 * Mutations of rows of any tables. The store applies all of them in one atomic step if all guards
 * hold.
 */
export interface AtomicBatch {
  readonly rows: readonly RowMutation[];
  readonly ranges?: readonly RangeGuard[] | undefined;
}

/**
 * The answer to a batch. `rejected` names the guard that did not hold: an index into `rows` and its
 * guards, or into `ranges`.
 */
export type BatchAnswer =
  | { readonly answer: "applied"; readonly timestamp: number }
  | { readonly answer: "rejected"; readonly row: number; readonly guard: number }
  | { readonly answer: "rejected"; readonly range: number }
  /**
   * `cause` is the error behind an unknown outcome, for messages. Undefined if the store has none.
   */
  | { readonly answer: "unknown"; readonly cause?: unknown };
