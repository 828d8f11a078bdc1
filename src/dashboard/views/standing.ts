import type { Database } from "../../database/index.js";
import { type Environment, sleep } from "../../environment/index.js";
import type { ObserverRecord } from "../../observer/index.js";
import type { Count } from "../api.js";
import { type Backlog, observerBacklogs } from "../backlog.js";
import { type Overdue, overdueSchedules } from "../overdue.js";
import { Shared } from "../sources/shared.js";

const everyMs = 900;
const max = { pending: 10_000, parked: 1_000 };
/** Locks are found by a scan of all tables: seldom, and for at most 2 s. */
const locksEveryMs = 60_000;
const locksMs = 2_000;
/** How long everything else waits for the count of locks. */
const locksPatienceMs = 200;
const maxLocks = 1_000;

export interface ObserverStanding {
  readonly record: ObserverRecord;
  readonly pending: Backlog;
  readonly parked: Backlog;
}

/** What the store holds at `now`. Counts stop at bounds. */
export interface Standing {
  readonly status: Awaited<ReturnType<Database["status"]>>;
  readonly observers: readonly ObserverStanding[];
  /** By schedule: changes that should have fired. */
  readonly schedules: readonly Overdue[];
  readonly locks: Count;
  readonly now: number;
}

/**
 * Counts what the store holds, on demand: at most once a second for all viewers, and less often if
 * counting takes long.
 */
export class StandingLook {
  readonly #db: Database;
  readonly #environment: Environment;
  readonly #closing = new AbortController();
  readonly #shared: Shared<Standing>;
  readonly #locks: Shared<Count>;
  #knownLocks: Count = { count: 0, isBound: true };

  constructor(db: Database, environment: Environment) {
    this.#db = db;
    this.#environment = environment;
    this.#shared = new Shared(environment, everyMs, () => this.#look());
    this.#locks = new Shared(environment, locksEveryMs, () => this.#countLocks());
  }

  get(): Promise<Standing> {
    return this.#shared.get();
  }

  close(): void {
    this.#closing.abort();
  }

  async #look(): Promise<Standing> {
    const { signal } = this.#closing;
    const db = this.#db;
    const status = await db.status();
    const observers: ObserverStanding[] = [];
    for (const [observer, record] of await db.observers()) {
      observers.push({ record, ...(await observerBacklogs(db, observer, max, signal)) });
    }
    const schedules = await overdueSchedules(db, this.#environment.now(), signal, max.pending);
    const locks = await this.#countedLocks();
    return { status, observers, schedules, locks, now: this.#environment.now() };
  }

  /** The newest known count of locks. Until the first scan ends it says that there may be some. */
  async #countedLocks(): Promise<Count> {
    const counting = this.#locks.get().then((count) => {
      this.#knownLocks = count;
    });
    const ending = new AbortController();
    const late = sleep(this.#environment, locksPatienceMs, ending.signal).catch(() => undefined);
    // If this scan fails, the next look scans again.
    await Promise.race([counting.catch(() => undefined), late]);
    ending.abort();
    return this.#knownLocks;
  }

  async #countLocks(): Promise<Count> {
    const ending = new AbortController();
    const end = () => ending.abort();
    const timer = this.#environment.setTimer(end, locksMs, { background: true });
    this.#closing.signal.addEventListener("abort", end, { once: true });
    let count = 0;
    try {
      for await (const _ of this.#db.locks({ signal: ending.signal })) {
        if (count === maxLocks) return { count, isBound: true };
        count++;
      }
      return { count, isBound: false };
    } catch (error) {
      if (!ending.signal.aborted || this.#closing.signal.aborted) throw error;
      return { count, isBound: true };
    } finally {
      timer.cancel();
      this.#closing.signal.removeEventListener("abort", end);
    }
  }
}

/** A backlog as a count. */
export function countOf({ count, more }: Pick<Backlog, "count" | "more">): Count {
  return { count, isBound: more };
}

/** The sum of several counts. */
export function sumOf(counts: readonly Count[]): Count {
  return {
    count: counts.reduce((sum, { count }) => sum + count, 0),
    isBound: counts.some(({ isBound }) => isBound),
  };
}
