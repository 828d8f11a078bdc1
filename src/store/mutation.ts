import type { Columns, Part } from "./cell.js";

/**
 * Stands for the commit timestamp in the mutations and `present` guards of an {@link AtomicBatch}:
 * the store puts in the timestamp that it takes from its counter for the batch.
 */
export const commitTimestamp = -1;

/** No version of `part` stands with `from <= timestamp < to`. `to` may be Infinity. */
export interface AbsentGuard {
  readonly type: "absent";
  readonly column: Uint8Array;
  readonly part: Part;
  readonly from: number;
  readonly to: number;
}

/** A version of `part` stands at exactly `at`. */
export interface PresentGuard {
  readonly type: "present";
  readonly column: Uint8Array;
  readonly part: Part;
  readonly at: number;
  /** Its value is exactly this. */
  readonly equals?: Uint8Array | undefined;
  /** Its value is less than this, byte by byte. */
  readonly below?: Uint8Array | undefined;
}

/** A condition on the row that is mutated; the paper's conditional mutation, section 2.5. */
export type Guard = AbsentGuard | PresentGuard;

/** Sets a version of a part of a cell. */
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

/** One change of a version of a cell. */
export type Mutation = PutMutation | DeleteMutation;

/**
 * Mutates one row atomically if all guards hold; in the order given. A put on a version that stands
 * replaces it. Buffers given to a store must not be changed afterwards.
 */
export interface RowMutation {
  readonly table: string;
  readonly row: Uint8Array;
  readonly guards: readonly Guard[];
  readonly mutations: readonly Mutation[];
}

/**
 * `applied`: all of it. `rejected`: a guard did not hold, nothing was done. `unknown`: no answer
 * came; it may have been applied, or be applied later. `unknown` is never to be taken for
 * `rejected`.
 */
export type MutationAnswer = "applied" | "rejected" | "unknown";

/** No cell of the range has a version of `part` with `from <= timestamp < to`. */
export interface RangeGuard {
  readonly table: string;
  /** First row, inclusive. Default: the first of the table. */
  readonly start?: Uint8Array | undefined;
  /** Row after the last. Default: none. */
  readonly end?: Uint8Array | undefined;
  readonly columns: Columns;
  readonly absent: readonly { readonly part: Part; readonly from: number; readonly to: number }[];
}

/** Rows of any tables, mutated in one atomic step if all guards of all hold. */
export interface AtomicBatch {
  readonly rows: readonly RowMutation[];
  readonly ranges?: readonly RangeGuard[] | undefined;
}

/**
 * `rejected` names the guard that did not hold, as an index into `rows` (and its guards) or into
 * `ranges`.
 */
export type BatchAnswer =
  | { readonly answer: "applied"; readonly timestamp: number }
  | { readonly answer: "rejected"; readonly row: number; readonly guard: number }
  | { readonly answer: "rejected"; readonly range: number }
  /** `cause`: why it is unknown, for messages, if the store knows. */
  | { readonly answer: "unknown"; readonly cause?: unknown };
