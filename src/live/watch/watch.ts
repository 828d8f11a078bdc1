import { InvalidArgumentError } from "../../errors/index.js";
import { currentTimestamp } from "../../oracle/index.js";
import { isRemote } from "../../store/index.js";
import {
  type BufferedWrite,
  checkNotMilliseconds,
  dateToTimestamp,
  SnapshotReader,
  type TransactionContext,
} from "../../transaction/index.js";
import type { FeedCursor, FeedSource } from "../feed/changes.js";
import { type CellChange, changesOf } from "../feed/feed-change.js";
import type { CommittedEntry } from "../feed/feed-entries.js";
import { isLoss } from "../feed/is-loss.js";
import { openLeased } from "../feed/open-leased.js";
import { type EarliestChanges, pastEntries } from "./past-changes.js";
import type { SharedPasses } from "./shared-passes.js";
import type { WatchOptions, WatchTarget } from "./watch-target.js";

/** The most transactions in memory at a time. */
const batch = 256;
/** Values of one transaction that are read from the store at the same time. */
const valuesAtOnce = 128;
/**
 * Values of further transactions that are read meanwhile. From a distant store, one read after the
 * other would be slower than the writers. Few, because values may be large.
 */
const valuesAhead = 32;
/** An idle reader confirms this often that it has missed nothing, in microseconds. */
const confirmUs = 60_000_000;

/** The committed changes of a column, family or table: see `Database.watch`. */
export async function* watch(
  source: FeedSource,
  target: WatchTarget,
  since: WatchOptions["since"],
  signal: AbortSignal,
  passes: SharedPasses<EarliestChanges>,
): AsyncGenerator<CellChange, void, undefined> {
  const { context } = source.registry;
  if (!context.schemas.known(target.table)) await context.schemas.record([target.table], signal);
  let position = await beginning(context, since);
  const tell = async function* (entries: readonly CommittedEntry[]) {
    yield* valued(context, target, entries, signal);
  };
  for (;;) {
    const { cursor, release } = await openLeased(source, { table: target.table.name }, position, signal);
    try {
      if (cursor.position > position) {
        // The feed begins later. The changes up to there are in the table itself.
        const upTo = cursor.position;
        await source.clock.after(upTo - 1, signal);
        let group: CommittedEntry[] = [];
        const past = pastEntries(context, target, { since: position, upTo, signal }, passes);
        for await (const entry of past) {
          group.push(entry);
          if (group.length < batch) continue;
          yield* tell(group);
          group = [];
        }
        yield* tell(group);
        position = upTo;
      }
      for (;;) {
        const next = await nextEntries(source, cursor, position, signal);
        if (next === "lost") break;
        yield* tell(next.entries);
        position = next.position;
      }
    } finally {
      release();
    }
  }
}

/** The timestamp after which to begin. */
async function beginning(context: TransactionContext, since: WatchOptions["since"]): Promise<number> {
  const now = await currentTimestamp(context);
  if (since === undefined) return now;
  const timestamp = since instanceof Date ? Math.min(dateToTimestamp(since), now) : since;
  if (!Number.isSafeInteger(timestamp) || timestamp < 0 || timestamp > now) {
    throw new InvalidArgumentError(
      `\`since\` must be a timestamp or a Date that is not in the future (now: ${now}), not ${String(since)}.`,
    );
  }
  if (!(since instanceof Date)) checkNotMilliseconds("since", timestamp, now);
  await context.safepoint.check(timestamp);
  return timestamp;
}

/**
 * The next entries, and the position up to which nothing is missing. A store outside of this process
 * may tell late that the feed was removed, so it is asked before the position moves on.
 */
async function nextEntries(
  source: FeedSource,
  cursor: FeedCursor,
  position: number,
  signal: AbortSignal,
): Promise<"lost" | { readonly entries: readonly CommittedEntry[]; readonly position: number }> {
  try {
    const { entries, upTo } = await cursor.next(batch, signal);
    if (!isRemote(source.registry.context.store)) return { entries, position: upTo };
    if (entries.length === 0 && upTo - position < confirmUs) return { entries, position };
    return (await cursor.isCurrent(signal)) ? { entries, position: upTo } : "lost";
  } catch (error) {
    if (isLoss(error)) return "lost";
    throw error;
  }
}

/** The watched changes of transactions, with the values as of their commits. */
async function* valued(
  context: TransactionContext,
  target: WatchTarget,
  entries: readonly CommittedEntry[],
  signal: AbortSignal,
): AsyncGenerator<CellChange, void, undefined> {
  const watched = entries
    .map((entry) => ({ ...entry, writes: target.of(entry.writes) }))
    .filter(({ writes }) => writes.length > 0);
  const [first] = watched;
  if (first === undefined) return;
  const unregister = context.active.register(first.commitTimestamp);
  try {
    for (const group of groupsOf(watched)) {
      const read = await Promise.all(group.map((entry) => withValues(context, entry, signal)));
      for (const entry of read) yield* changesOf(entry, target.columns);
    }
  } finally {
    unregister();
  }
}

/** Divides transactions into groups with few changes each, or with a single transaction. */
function* groupsOf(entries: readonly CommittedEntry[]): Generator<readonly CommittedEntry[]> {
  let group: CommittedEntry[] = [];
  let count = 0;
  for (const entry of entries) {
    if (group.length > 0 && count + entry.writes.length > valuesAhead) {
      yield group;
      group = [];
      count = 0;
    }
    group.push(entry);
    count += entry.writes.length;
  }
  yield group;
}

/** A transaction's changes with the values as of its commit. */
async function withValues(
  context: TransactionContext,
  entry: CommittedEntry,
  signal: AbortSignal,
): Promise<CommittedEntry> {
  const reader = new SnapshotReader(context, entry.commitTimestamp, { signal });
  const read = async ({ table, row, column }: BufferedWrite): Promise<BufferedWrite> => {
    const { cells } = await reader.row(table, row, [{ exact: column }]);
    return { table, row, column, value: cells[0]?.value };
  };
  const writes: BufferedWrite[] = [];
  for (let from = 0; from < entry.writes.length; from += valuesAtOnce) {
    writes.push(...(await Promise.all(entry.writes.slice(from, from + valuesAtOnce).map(read))));
  }
  return { ...entry, writes };
}
