import type { Database } from "../database/index.js";
import type { Environment } from "../environment/index.js";
import type { ObserverRecord } from "../observer/index.js";
import { failingOf } from "./failures/retrying.js";
import { readWithin } from "./read-within.js";

/** How many changes of one kind wait. */
export interface Backlog {
  readonly count: number;
  /** Whether there are, or may be, more than `count`. */
  readonly more: boolean;
  /** When the oldest counted change began to wait. */
  readonly oldest: Date | undefined;
}

/** An observer, with the changes that wait for it. */
export interface ObserverBacklog {
  readonly record: ObserverRecord;
  readonly pending: Backlog;
  /** How many of the counted pending changes have failed, and are tried again. */
  readonly retrying: number;
  readonly parked: Backlog;
}

/** The most changes of each kind that are counted of one observer. */
export interface BacklogBounds {
  readonly pending: number;
  readonly parked: number;
}

/**
 * How long the parked changes of one observer are counted. The count reads the row of each, and also
 * passes the entries of retried and discarded changes that are not collected yet. Of a million of
 * these, none is counted.
 */
const parkedMs = 2_000;

/** Counts the pending and the parked changes of each observer, up to a bound. */
export async function observerBacklogs(
  db: Database,
  environment: Environment,
  max: BacklogBounds,
  closing: AbortSignal,
): Promise<readonly ObserverBacklog[]> {
  const backlogs: ObserverBacklog[] = [];
  for (const [observer, record] of await db.observers()) {
    let retrying = 0;
    const pending = new BacklogCount(max.pending);
    for await (const change of db.pending({ observer, signal: closing })) {
      if (!pending.add(change.since)) break;
      if (failingOf(change) !== undefined) retrying++;
    }
    const time = { environment, closing, timeMs: parkedMs, doing: "Counting parked changes" };
    const parked = new BacklogCount(max.parked);
    const ended = await readWithin(time, async (signal) => {
      for await (const { parkedAt } of db.parked({ observer, signal })) if (!parked.add(parkedAt)) return;
    });
    backlogs.push({ record, pending: pending.upTo(true), retrying, parked: parked.upTo(ended) });
  }
  return backlogs;
}

/** Counts changes one by one, up to `max`. */
export async function countBacklog<T>(
  changes: AsyncIterable<T>,
  waitsSince: (change: T) => Date,
  max: number,
): Promise<Backlog> {
  const count = new BacklogCount(max);
  for await (const change of changes) if (!count.add(waitsSince(change))) break;
  return count.upTo(true);
}

/** A count that stops at a bound. */
class BacklogCount {
  readonly #max: number;
  #count = 0;
  #more = false;
  #oldest: Date | undefined;

  constructor(max: number) {
    this.#max = max;
  }

  /** Counts a change. Returns false if there are more than are counted. */
  add(since: Date): boolean {
    this.#more = this.#count === this.#max;
    if (this.#more) return false;
    this.#count++;
    // What a run that was stopped leaves of a handled change has no time of its own, but 1970. It is
    // counted until a worker deletes it, and has no age.
    if (since.getTime() > 0 && (this.#oldest === undefined || since < this.#oldest)) this.#oldest = since;
    return true;
  }

  /** The count. `isComplete`: whether all changes up to the bound were read. */
  upTo(isComplete: boolean): Backlog {
    return { count: this.#count, more: this.#more || !isComplete, oldest: this.#oldest };
  }
}
