import { CoreTransaction } from "../../transaction/index.js";
import { type Acknowledgment, encodeAcknowledgment } from "../hint/acknowledgment.js";
import { describeFailure } from "../hint/failure.js";
import { deleteHint } from "../hint/hint.js";
import { encodeParkedEntry, parkedEntryCell } from "../hint/parked-entry.js";
import type { Task } from "../queue/task.js";
import { type CellRecords, readRecords } from "../registry/due.js";
import { isCurrent } from "../registry/registered.js";
import type { Registry } from "../registry/registry.js";

/**
 * Parks a change. One transaction records it in the cell's row and in the list, and deletes the
 * hint. It does not affect a change after `start`: that change has its own hint.
 *
 * Returns false if the observer was unregistered, or has another version or column. Its hints then
 * belong to other programs, and nothing was changed. `crashes` says how many processes ended during a
 * run, if that is the reason. If `signal` is aborted, rejects, and the hint stays.
 */
export async function park(
  registry: Registry,
  task: Task,
  start: number,
  attempts: number,
  error: unknown,
  crashes = 0,
  signal?: AbortSignal,
): Promise<boolean> {
  return registry.retrying(() => parkOnce(registry, task, start, attempts, error, crashes, signal), signal);
}

async function parkOnce(
  registry: Registry,
  task: Task,
  start: number,
  attempts: number,
  error: unknown,
  crashes: number,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  const { context } = registry;
  // This transaction is serializable: if a run succeeds in the meantime, it writes the
  // acknowledgment that is read here, and this transaction conflicts.
  const tx = await CoreTransaction.begin(context, {
    isolation: "serializable",
    label: `park ${task.observer.name}`,
    signal,
  });
  try {
    const registered = (await registry.fresh()).observers.get(task.observer.name);
    const { version } = task.observer;
    if (!isCurrent(registered, task.observer)) return false;
    const records = await readRecords(tx, registered, task.cell);
    const { table, row, column } = task.cell;
    // An earlier observer of the name has left a hint of a cell that this one does not watch.
    const from = registered.watches(column) ? parkedFrom(records, version, start) : undefined;
    if (from !== undefined) {
      const parked = { table, row, column: registered.parkedColumn(column) };
      tx.write({ ...parked, value: encodeAcknowledgment({ start: from, version, chain: crashes }) });
      tx.setPrimary(parked);
      const entry = {
        start: from,
        attempts,
        parkedAt: context.environment.now(),
        error: describeFailure(error),
      };
      tx.write({
        ...parkedEntryCell(registered.name, task.cell),
        value: encodeParkedEntry(entry),
      });
      tx.addHandled({ observer: registered.name, cell: task.cell, upTo: from, isParked: true });
    }
    const removal = deleteHint(task.hint, start);
    if (tx.commitsInOneBatch) tx.alsoMutate(removal);
    await tx.commit();
    if (!tx.commitsInOneBatch) await context.store.mutate(removal);
    return true;
  } finally {
    tx.rollback();
  }
}

/**
 * The start timestamp to record. Undefined if this version has already dealt with the change: a
 * slow process must not replace a newer record with an older one. An acknowledgment of another
 * version does not count, but the new record must be newer than it.
 */
function parkedFrom(
  { acknowledgment, parked }: CellRecords,
  version: number,
  start: number,
): number | undefined {
  const isHandled = (record: Acknowledgment | undefined) =>
    record !== undefined && record.version === version && record.start >= start;
  if (isHandled(acknowledgment) || isHandled(parked)) return undefined;
  return Math.max(start, (acknowledgment?.start ?? 0) + 1);
}
