import type { Database, DatabaseStatus } from "../../database/index.js";
import type { Environment } from "../../environment/index.js";
import type { Count } from "../api/index.js";
import { type Backlog, type ObserverBacklog, observerBacklogs } from "../backlog.js";
import { type Overdue, overdueSchedules } from "../overdue.js";
import { readWithin } from "../read-within.js";
import { sumOf } from "../recording/sums.js";
import { Shared } from "../sources/shared.js";

const everyMs = 900;
const max = { pending: 10_000, parked: 1_000 };
/**
 * Counting the locks needs a scan of all tables. The scan runs at most once a minute, for at most
 * two seconds.
 */
const locksEveryMs = 60_000;
const locksMs = 2_000;
/** How long everything else waits for the count of locks. */
const locksPatienceMs = 200;
const maxLocks = 1_000;

/** What the store holds at `now`. Counts stop at bounds. */
export interface Standing {
  readonly status: DatabaseStatus;
  readonly observers: readonly ObserverBacklog[];
  /** The schedules, each with the count of its changes that should have fired and have not. */
  readonly schedules: readonly Overdue[];
  readonly locks: Count;
  readonly now: number;
}

/**
 * Counts what the store holds, on demand: at most once a second for all viewers, and less often if
 * counting takes long.
 */
export class StandingLook extends Shared<Standing> {
  readonly #closing: AbortController;

  constructor(db: Database, environment: Environment) {
    const closing = new AbortController();
    const { signal } = closing;
    const locks = new Shared(environment, locksEveryMs, () => countLocks(db, environment, signal));
    super(environment, everyMs, async () => {
      const status = await db.status();
      const observers = await observerBacklogs(db, environment, max, signal);
      const schedules = await overdueSchedules(db, environment.now(), signal, max.pending);
      // Until the first scan ends, the number of locks is unknown. The count then says "0 or more".
      const { value = { count: 0, isBound: true } } = await locks.newest(locksPatienceMs);
      return { status, observers, schedules, locks: value, now: environment.now() };
    });
    this.#closing = closing;
  }

  close(): void {
    this.#closing.abort();
  }
}

async function countLocks(db: Database, environment: Environment, closing: AbortSignal): Promise<Count> {
  let count = 0;
  let isBound = false;
  const time = { environment, closing, timeMs: locksMs, doing: "Counting locks" };
  const ended = await readWithin(time, async (signal) => {
    for await (const _ of db.locks({ signal })) {
      isBound = count === maxLocks;
      if (isBound) return;
      count++;
    }
  });
  return { count, isBound: isBound || !ended };
}

/** A backlog as a count. */
export function countOf({ count, more }: Pick<Backlog, "count" | "more">): Count {
  return { count, isBound: more };
}

/** The sum of several backlogs. */
export function countAll(backlogs: readonly Backlog[]): Count {
  return { count: sumOf(backlogs, ({ count }) => count), isBound: backlogs.some(({ more }) => more) };
}

/** How long the oldest of a backlog has waited at `now`. */
export function waitedMs({ oldest }: Pick<Backlog, "oldest">, now: number): number | undefined {
  return oldest === undefined ? undefined : Math.max(0, now - oldest.getTime());
}
