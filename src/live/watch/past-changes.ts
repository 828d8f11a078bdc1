import { throwIfAborted } from "../../environment/index.js";
import {
  type BufferedWrite,
  decodeWrite,
  isUserColumn,
  SnapshotReader,
  type TransactionContext,
  walkCells,
} from "../../transaction/index.js";
import type { CommittedEntry } from "../feed/feed-entries.js";
import { SharedPasses } from "./shared-passes.js";
import type { WatchTarget } from "./watch-target.js";

/**
 * Changes that one pass through the table returns. A pass keeps at most twice as many in memory,
 * but always whole transactions.
 */
const maxChanges = 10_000;

export interface PastChange extends BufferedWrite {
  readonly commitTimestamp: number;
}

/** The earliest changes, by whole transactions, and the timestamp up to which they are complete. */
export interface EarliestChanges {
  readonly changes: readonly PastChange[];
  readonly upTo: number;
}

/** Which changes: those of commits after `since`, up to a timestamp that was already given out. */
export interface PastRead {
  readonly since: number;
  readonly upTo: number;
  readonly signal?: AbortSignal | undefined;
  /** Default: 10,000. */
  readonly maxChanges?: number | undefined;
}

/**
 * The changes of a table's cells from before somebody followed its feed, in commit order: from the
 * versions that the cells still have. They are in the order of the rows, so each pass through the
 * table finds the earliest ones that fit into memory. The entries have no values.
 */
export async function* pastEntries(
  context: TransactionContext,
  target: WatchTarget,
  read: PastRead,
  passes = new SharedPasses<EarliestChanges>(),
): AsyncGenerator<CommittedEntry, void, undefined> {
  const unregister = context.active.register(read.since);
  try {
    let { since } = read;
    for (let pass = 0; since < read.upTo; pass++) {
      const own = { ...read, since };
      const run = async (signal: AbortSignal) => {
        if (pass === 0) await settleLocks(context, target, { ...own, signal });
        return await earliest(context, target, { ...own, signal });
      };
      const { changes, upTo } = await passes.run({ target, ...own, isFirst: pass === 0 }, run);
      // Collection may have removed versions during the pass.
      await context.safepoint.check(since);
      const after = since;
      yield* byTransaction(changes.filter(({ commitTimestamp }) => commitTimestamp > after));
      since = Math.max(since, upTo);
    }
  } finally {
    unregister();
  }
}

/**
 * Resolves the locks of transactions that may have committed up to the timestamp. A transaction that
 * locks a cell later commits after it.
 */
async function settleLocks(
  context: TransactionContext,
  { table, rows }: WatchTarget,
  { upTo, signal }: PastRead,
): Promise<void> {
  const { store, environment } = context;
  const reader = new SnapshotReader(context, upTo, { signal });
  const locked = walkCells(store, environment, table.name, { parts: ["lock"], ...range(rows), signal });
  for await (const cells of locked) {
    for (const { row, column } of cells) {
      if (isUserColumn(column)) await reader.row(table.name, row, [{ exact: column }]);
    }
  }
}

function range({ start, end }: WatchTarget["rows"]) {
  return { start, end };
}

/** Reads as many of the earliest changes as fit into memory. */
async function earliest(
  { store, environment }: TransactionContext,
  target: WatchTarget,
  read: PastRead,
): Promise<EarliestChanges> {
  const { since, signal, maxChanges: most = maxChanges } = read;
  const table = target.table.name;
  let { upTo } = read;
  let changes: PastChange[] = [];
  let tooMany = 2 * most;
  const found = walkCells(store, environment, table, {
    parts: ["write"],
    from: since + 1,
    to: upTo + 1,
    ...range(target.rows),
    signal,
  });
  for await (const cells of found) {
    throwIfAborted(signal, "Reading earlier changes");
    for (const { row, column, versions } of cells) {
      if (!target.isColumn(column)) continue;
      for (const { timestamp, value } of versions) {
        // Loaded cells are no changes of a transaction.
        if (timestamp > upTo || decodeWrite(value).loaded === true) continue;
        const cell = { table, row: Buffer.from(row), column: Buffer.from(column), value: undefined };
        changes.push({ ...cell, commitTimestamp: timestamp });
      }
    }
    if (changes.length <= tooMany) continue;
    changes.sort(inCommitOrder);
    upTo = changes[most - 1]!.commitTimestamp;
    changes = changes.filter(({ commitTimestamp }) => commitTimestamp <= upTo);
    // A transaction may have more changes than that.
    tooMany = Math.max(2 * most, 2 * changes.length);
  }
  return { changes: changes.sort(inCommitOrder), upTo };
}

function inCommitOrder(a: PastChange, b: PastChange): number {
  return (
    a.commitTimestamp - b.commitTimestamp ||
    Buffer.compare(a.row, b.row) ||
    Buffer.compare(a.column, b.column)
  );
}

function* byTransaction(changes: readonly PastChange[]): Generator<CommittedEntry> {
  for (let from = 0, to = 0; from < changes.length; from = to) {
    const { commitTimestamp } = changes[from]!;
    while (to < changes.length && changes[to]!.commitTimestamp === commitTimestamp) to++;
    const writes = changes.slice(from, to);
    yield { commitTimestamp, label: undefined, observer: undefined, handled: [], writes };
  }
}
