import { InvalidArgumentError, InvalidKeyError, LimitExceededError } from "../errors/index.js";
import type { Columns } from "./cell.js";
import {
  type AtomicBatch,
  commitTimestamp,
  type Guard,
  type Mutation,
  type RangeGuard,
  type RowMutation,
  stampBytes,
} from "./mutation.js";

/** The limits of every store. */
export const storeLimits = Object.freeze({
  /** The most bytes of a row and a column together, with each NUL byte counted twice. */
  keyBytes: 1_800,
  /** The most bytes of a table's name. */
  tableBytes: 64,
  /**
   * The most bytes of one version: the longest value that users may set, plus what the protocol
   * adds.
   */
  valueBytes: 16_000_000,
});

const knownTables = new Set<string>();

/** Throws an InvalidArgumentError for a table name that no store can hold. */
export function checkTable(table: string): void {
  if (knownTables.has(table)) return;
  if (table.length === 0 || table.includes("\0")) {
    throw new InvalidArgumentError(
      `A table's name must have at least one character and no NUL; ${JSON.stringify(table)} cannot be one.`,
    );
  }
  if (Buffer.byteLength(table) > storeLimits.tableBytes) {
    throw new InvalidArgumentError(
      `The table's name ${JSON.stringify(table)} is longer than ${storeLimits.tableBytes} bytes; choose a shorter one.`,
    );
  }
  if (knownTables.size < 10_000) knownTables.add(table);
}

function keyCost(bytes: Uint8Array): number {
  let cost = bytes.length;
  for (let i = 0; i < bytes.length; i++) if (bytes[i] === 0) cost++;
  return cost;
}

/**
 * Throws an InvalidKeyError if row and column together are too long. `slack` allows bounds of
 * ranges to be a little longer than keys.
 */
export function checkKey(table: string, row: Uint8Array, column: Uint8Array | undefined, slack = 0): void {
  const bytes = keyCost(row) + (column === undefined ? 0 : keyCost(column));
  if (bytes > storeLimits.keyBytes + slack) throw keyTooLong(table, bytes);
}

export function keyTooLong(table: string, bytes: number): InvalidKeyError {
  return new InvalidKeyError(
    `A row and column of table ${JSON.stringify(table)} have ${bytes} bytes together (each NUL byte counted twice); ` +
      `at most ${storeLimits.keyBytes} are allowed. Use shorter keys.`,
  );
}

/** Throws an InvalidArgumentError unless a read timestamp is a number of 0 or more. */
export function checkAt(at: number): void {
  if (!(at >= 0)) throw new InvalidArgumentError(`A read timestamp must be 0 or more, not ${at}.`);
}

export function checkColumns(columns: Columns): void {
  if (columns.length === 0)
    throw new InvalidArgumentError("A read must name at least one column or range of columns.");
}

export function checkLimit(limit: number | undefined): void {
  if (limit !== undefined && !(limit >= 1))
    throw new InvalidArgumentError(`A limit must be 1 or more, not ${limit}.`);
}

/**
 * Throws if the store could not apply the whole mutation. Called before any part of it is applied.
 */
export function checkMutation(mutation: RowMutation, most: number, placeholders: boolean): void {
  const { table, row, guards, mutations } = mutation;
  checkTable(table);
  if (mutation.stamped === true) checkStamped(mutation, placeholders);
  if (guards.length + mutations.length > most) {
    throw new LimitExceededError(
      `A mutation of table ${JSON.stringify(table)} has ${guards.length + mutations.length} guards and mutations; ` +
        `this store takes at most ${most} at once. Divide it.`,
    );
  }
  // Guards and mutations of a cell usually share its array, which needs one check.
  let checked: Uint8Array | undefined;
  // A loop by index, because this runs for every commit, and an iterator allocates at each step.
  for (let i = 0; i < guards.length; i++) {
    const guard = guards[i]!;
    if (guard.column !== checked) checkKey(table, row, guard.column);
    checked = guard.column;
    checkGuard(guard, placeholders);
  }
  for (let i = 0; i < mutations.length; i++) {
    const mutation = mutations[i]!;
    if (mutation.column !== checked) checkKey(table, row, mutation.column);
    checked = mutation.column;
    checkTimes(table, mutation, placeholders);
  }
}

function checkStamped({ table, row, guards }: RowMutation, isInBatch: boolean): void {
  if (isInBatch && guards.length === 0 && row.length >= stampBytes) return;
  throw new InvalidArgumentError(
    `A stamped mutation of table ${JSON.stringify(table)} must be part of a batch, have no guards, and have a row of at least ` +
      `${stampBytes} bytes.`,
  );
}

export function checkBatch({ rows, ranges }: AtomicBatch, most: number): void {
  for (let i = 0; i < rows.length; i++) checkMutation(rows[i]!, most, true);
  if (ranges !== undefined) for (const range of ranges) checkRangeGuard(range);
}

function checkRangeGuard(range: RangeGuard): void {
  checkTable(range.table);
  checkColumns(range.columns);
  for (const each of range.absent) checkInterval(each.from, each.to);
}

function checkGuard(guard: Guard, placeholders: boolean): void {
  if (guard.type === "absent") checkInterval(guard.from, guard.to);
  else checkTimestamp(guard.at, placeholders);
}

function checkTimes(table: string, mutation: Mutation, placeholders: boolean): void {
  if (mutation.type === "delete") {
    checkInterval(mutation.from, mutation.to);
    return;
  }
  checkTimestamp(mutation.timestamp, placeholders);
  if (mutation.value.length > storeLimits.valueBytes) {
    throw new LimitExceededError(
      `A value for table ${JSON.stringify(table)} has ${mutation.value.length} bytes; ` +
        `a store takes at most ${storeLimits.valueBytes}. Divide it.`,
    );
  }
}

function checkTimestamp(timestamp: number, placeholders: boolean): void {
  if (Number.isSafeInteger(timestamp) && timestamp >= 0) return;
  if (placeholders && timestamp === commitTimestamp) return;
  throw new InvalidArgumentError(`A timestamp must be a safe integer of 0 or more, not ${timestamp}.`);
}

function checkInterval(from: number, to: number): void {
  if (from >= 0 && to >= 0) return;
  throw new InvalidArgumentError(
    `Timestamps from ${from} to ${to} are not an interval: both must be 0 or more.`,
  );
}
