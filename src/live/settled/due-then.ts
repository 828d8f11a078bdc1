import { LimitExceededError } from "../../errors/index.js";
import {
  hintedCells,
  parkedAt,
  parkedChangeOf,
  type RecentCommit,
  type Registry,
  type RegistryView,
  readCellState,
} from "../../observer/index.js";
import { currentTimestamp } from "../../oracle/index.js";
import { addressKey, SnapshotReader } from "../../transaction/index.js";
import {
  type CountsObserver,
  changesOfHints,
  derivationFailed,
  type FollowedChange,
  failedDerivation,
  type WaiterStart,
} from "./waiter.js";

/** The most hints that are read to find out what is due. */
const maxHints = 100_000;

/** The commit and the observers of a call of `db.settled`. */
export interface SettledCommit {
  readonly commitTimestamp: number;
  readonly counts: CountsObserver;
  readonly signal: AbortSignal | undefined;
}

/**
 * Where to begin for a commit that the feed does not have, since it is older than the feed: what is
 * due of it now. The feed has everything after `position`.
 *
 * If this process made the commit a moment ago, it knows what the commit changed, and which runs of
 * its own have handled that. Otherwise everything counts that is due now and newer than the commit.
 * That is all of what the commit has caused and that is not handled, and possibly more.
 */
export async function dueOfOlder(
  registry: Registry,
  asked: SettledCommit,
  position: number,
): Promise<WaiterStart> {
  const view = await registry.reload();
  const recent = registry.recent.find(asked.commitTimestamp);
  const known = recent === undefined ? undefined : await dueOfRecent(registry, view, asked, recent, position);
  return known ?? (await allDueSince(registry, view, asked, position));
}

/**
 * What is due of a commit of this process, as of `position`. Undefined if another process has
 * handled some of it: only the feed could say what that run has changed.
 */
async function dueOfRecent(
  registry: Registry,
  view: RegistryView,
  asked: SettledCommit,
  root: RecentCommit,
  position: number,
): Promise<WaiterStart | undefined> {
  const { context } = registry;
  const runs = runsByCell(registry.recent.runs());
  const due: FollowedChange[] = [];
  /** A run may handle several of the changes, but its own count once. */
  const followed = new Set<RecentCommit>();
  const next = [...changesOfHints(root.hints, root.commitTimestamp)];
  const unregister = context.active.register(position);
  try {
    const reader = new SnapshotReader(context, position, { signal: asked.signal });
    for (let change = next.pop(); change !== undefined; change = next.pop()) {
      const { observer, cell, commitTimestamp } = change;
      const registered = view.observers.get(observer);
      if (registered === undefined || !counts(asked, observer, registered.record.since, commitTimestamp)) {
        continue;
      }
      const own = runs.get(keyOf(change))?.find(({ upTo }) => upTo >= commitTimestamp);
      if (own !== undefined) {
        if (!followed.has(own.run)) next.push(...changesOfHints(own.run.hints, own.run.commitTimestamp));
        followed.add(own.run);
        continue;
      }
      const parked = await parkedChangeOf(view, reader, registered, cell);
      if (parked !== undefined && parked.upTo >= commitTimestamp) {
        throw derivationFailed([failedDerivation(parked.change)]);
      }
      const state = await readCellState({ reader }, registered, cell);
      if ((state.acknowledgment?.start ?? 0) >= commitTimestamp || state.commit === 0) return undefined;
      due.push(change);
    }
  } finally {
    unregister();
  }
  return { position, due };
}

/** A run, and up to which timestamp it has handled a cell. */
interface RunOfCell {
  readonly run: RecentCommit;
  readonly upTo: number;
}

function runsByCell(runs: readonly RecentCommit[]): ReadonlyMap<string, readonly RunOfCell[]> {
  const byCell = new Map<string, RunOfCell[]>();
  for (const run of runs) {
    for (const handled of run.handled) {
      const key = keyOf(handled);
      const known = byCell.get(key);
      const ofCell = { run, upTo: handled.upTo };
      if (known === undefined) byCell.set(key, [ofCell]);
      else known.push(ofCell);
    }
  }
  return byCell;
}

function keyOf({ observer, cell }: Pick<FollowedChange, "observer" | "cell">): string {
  return `${observer}\0${addressKey(cell)}`;
}

function counts(asked: SettledCommit, name: string, since: number, commitTimestamp: number): boolean {
  return since < commitTimestamp && asked.counts(name);
}

/**
 * Everything that is due and newer than a commit. The hints are no snapshot: while they are read, a
 * run may handle a change whose hint was not read yet, and leave hints behind the reader. So every
 * run that commits meanwhile counts too.
 */
async function allDueSince(
  registry: Registry,
  view: RegistryView,
  asked: SettledCommit,
  position: number,
): Promise<WaiterStart> {
  const { commitTimestamp: since, signal } = asked;
  const due: FollowedChange[] = [];
  let read = 0;
  for await (const { hints } of hintedCells(registry, signal)) {
    read += hints.length;
    if (read > maxHints) throw tooManyHints(since);
    for (const { observer, row, column, timestamp } of hints) {
      const record = view.observers.get(observer)?.record;
      if (timestamp < since || record === undefined || !counts(asked, observer, record.since, timestamp)) {
        continue;
      }
      const cell = { table: record.table, row: Buffer.from(row), column: Buffer.from(column) };
      due.push({ observer, cell, commitTimestamp: timestamp });
    }
  }
  const allRunsUpTo = await currentTimestamp(registry.context);
  const failed = [];
  for await (const { change, upTo } of parkedAt(registry, allRunsUpTo, { signal })) {
    if (upTo >= since && asked.counts(change.observer)) failed.push(failedDerivation(change));
  }
  if (failed.length > 0) throw derivationFailed(failed, "that the commit may have caused");
  return { position, due, allRunsUpTo };
}

function tooManyHints(since: number): LimitExceededError {
  return new LimitExceededError(
    `More than ${maxHints} changes wait for observers, too many to find those that the commit at ${since} has caused. It is ` +
      "older than what `db.settled` knows exactly. Wait with `db.idle`, or call `db.settled` for later commits.",
  );
}
