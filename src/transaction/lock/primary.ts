import { backoffDelay, sleep, throwIfAborted } from "../../environment/index.js";
import { StoreError } from "../../errors/index.js";
import type { MutationAnswer, RowStore } from "../../store/index.js";
import type { CellAddress } from "../cell/address.js";
import { showCell } from "../cell/address.js";
import { fenceGuards, lockedGuard } from "../cell/guards.js";
import { readCells } from "../cell/raw.js";
import {
  decodeLock,
  decodeStatus,
  encodeStatus,
  type LockRecord,
  type StatusRecord,
} from "../cell/records.js";
import type { TransactionContext } from "../context.js";

/**
 * What a transaction's primary shows: its lock, its status, or neither. This state decides the
 * transaction.
 */
export type PrimaryState =
  | { readonly state: "locked"; readonly lock: LockRecord; readonly value: Uint8Array }
  | { readonly state: "decided"; readonly status: StatusRecord }
  | { readonly state: "nothing" };

/**
 * How often a rollback is sent again while the store keeps answering `unknown`. With at most 200 ms
 * between attempts this takes up to 20 s, longer than a short outage.
 */
const maxRepeats = 100;
const repeating = { initialMs: 2, maximumMs: 200 };

/**
 * Reads the primary's lock and status of the transaction that started at `start`, in one atomic
 * read.
 */
export async function readPrimary(
  store: RowStore,
  primary: CellAddress,
  start: number,
): Promise<PrimaryState> {
  const versions = await readCells(store, primary, ["lock", "txn"], start, start + 1);
  const status = versions.find((version) => version.part === "txn");
  if (status !== undefined) return { state: "decided", status: decodeStatus(status.value) };
  const lock = versions.find((version) => version.part === "lock");
  if (lock !== undefined) return { state: "locked", lock: decodeLock(lock.value), value: lock.value };
  return { state: "nothing" };
}

/**
 * Rolls a transaction back at its primary, unless the transaction already has a final status. The
 * answer is final. The rollback writes a tombstone to `c:txn`, which stops a late prewrite or
 * commit (protocol §4.2). Aborting `signal` ends the repetition, with the outcome left open.
 */
export async function rollbackPrimary(
  context: TransactionContext,
  primary: CellAddress,
  start: number,
  signal?: AbortSignal,
): Promise<StatusRecord> {
  const info = { startTimestamp: start, cell: showCell(primary) };
  const { store, hooks, environment } = context;
  const doing = `Resolving the transaction at ${start}`;
  for (let repeat = 0; repeat < maxRepeats; repeat++) {
    throwIfAborted(signal, doing);
    const found = await readPrimary(store, primary, start);
    if (found.state === "decided") return found.status;
    let answer: MutationAnswer;
    if (found.state === "locked") {
      const others = found.lock.others;
      answer = await hooks.step("rollback-primary", info, () =>
        rollbackLocked(store, primary, start, others),
      );
    } else {
      answer = await hooks.step("fence-primary", info, () => fence(store, primary, start));
    }
    if (answer === "applied") return { outcome: "rolled-back" };
    if (answer === "unknown")
      await sleep(environment, backoffDelay(environment, repeating, repeat + 1), signal, doing);
  }
  throw new StoreError(
    `The store gave no usable answer ${maxRepeats} times while this process resolved the transaction at ${start} at ` +
      `${showCell(primary)}. Its locks remain until the next transaction that meets them resolves them. Try again.`,
    { retryable: true },
  );
}

function rollbackLocked(
  store: RowStore,
  primary: CellAddress,
  start: number,
  others: readonly Uint8Array[],
): Promise<MutationAnswer> {
  return store.mutate({
    table: primary.table,
    row: primary.row,
    guards: [lockedGuard(primary.column, start)],
    mutations: [
      ...[primary.column, ...others].flatMap((column) => deleteLockAndData(column, start)),
      rolledBack(primary.column, start),
    ],
  });
}

function fence(store: RowStore, primary: CellAddress, start: number): Promise<MutationAnswer> {
  return store.mutate({
    table: primary.table,
    row: primary.row,
    guards: fenceGuards(primary.column, start),
    mutations: [rolledBack(primary.column, start)],
  });
}

function rolledBack(column: Uint8Array, start: number) {
  const value = encodeStatus({ outcome: "rolled-back" });
  return { type: "put", column, part: "txn", timestamp: start, value } as const;
}

/**
 * Deletes a transaction's lock and data in a column. Correct only under a guard that the lock
 * exists.
 */
export function deleteLockAndData(column: Uint8Array, start: number) {
  return [
    { type: "delete", column, part: "lock", from: start, to: start + 1 },
    { type: "delete", column, part: "data", from: start, to: start + 1 },
  ] as const;
}
