import type { Database } from "../../database/index.js";
import type { Environment } from "../../environment/index.js";
import type { Count } from "../api/index.js";
import type { Backlog } from "../backlog.js";
import { readWithin } from "../read-within.js";
import { sumOf } from "../recording/sums.js";
import { Shared } from "../sources/shared.js";
import { readStanding, type Standing } from "../standing.js";

const everyMs = 900;
/** The most changes that are counted of an observer, a schedule or an attached table. */
export const maxPending = 10_000;
const max = { pending: maxPending, parked: 1_000 };
/**
 * Counting the locks needs a scan of all tables. The scan runs at most once a minute, for at most
 * two seconds.
 */
const locksEveryMs = 60_000;
const locksMs = 2_000;
/** How long everything else waits for the count of locks. */
const locksPatienceMs = 200;
const maxLocks = 1_000;

/** What the store holds, for the views. */
export interface ShownStanding extends Standing {
  readonly locks: Count;
}

/**
 * Counts what the store holds, on demand: at most once a second for all viewers, and less often if
 * counting takes long.
 */
export class StandingLook extends Shared<ShownStanding> {
  readonly #closing: AbortController;

  constructor(db: Database, environment: Environment) {
    const closing = new AbortController();
    const { signal } = closing;
    const locks = new Shared(environment, locksEveryMs, () => countLocks(db, environment, signal));
    super(environment, everyMs, async () => {
      const standing = await readStanding(db, environment, max, signal);
      // Until the first scan ends, the number of locks is unknown. The count then says "0 or more".
      const { value = { count: 0, isBound: true } } = await locks.newest(locksPatienceMs);
      return { ...standing, locks: value };
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
