import type { Database } from "../../database/index.js";
import type { Environment, Timer } from "../../environment/index.js";
import { int, json, table, tuple } from "../../schema/index.js";
import type { Overview, Past, PastMoment } from "../api/index.js";
import { sumOf } from "../recording/sums.js";

const everyMs = 10_000;
const hourMs = 3_600_000;
const slots = hourMs / everyMs;
/** The most observers of a moment: those with the most waiting and parked changes. */
const maxObservers = 64;

/** The label of the transactions that keep moments. Dashboards do not record these transactions. */
export const pastLabel = "dashboard history";
/** The table of a database in which its writable dashboards keep the last hour. */
export const pastTable = "percolator_past";

const kept = table(pastTable, { moment: json<PastMoment>() }, { key: tuple(int()) });

export interface PastOptions {
  readonly db: Database;
  readonly environment: Environment;
  /** Whether the moments are kept in the database too. */
  readonly writable: boolean;
  /** Reads the overview. It calls {@link PastMoments.see} itself. */
  readonly look: () => Promise<unknown>;
}

/**
 * The figures of the last hour, one moment each ten seconds, so that a page opened now shows what
 * came before. A writable dashboard keeps them in the database: in 360 rows, each of which is written
 * again after an hour.
 */
export class PastMoments {
  readonly #options: PastOptions;
  #moments: PastMoment[] = [];
  #loading: Promise<void> | undefined;
  /** Whether the moments in the database were read. */
  #isLoaded = false;
  /** Whether a moment is being written. The next one then stays in memory only. */
  isWriting = false;
  /** Whether the newest moment that was written is in the database. */
  #isInDatabase: boolean;
  #isClosed = false;
  #timer: Timer | undefined;

  constructor(options: PastOptions) {
    this.#options = options;
    this.#isInDatabase = options.writable;
    this.#schedule();
  }

  #schedule(): void {
    const tick = async () => {
      try {
        await this.#options.look();
      } catch {
        // The views say why the store cannot be read.
      }
      if (!this.#isClosed) this.#schedule();
    };
    this.#timer = this.#options.environment.setTimer(() => void tick(), everyMs, { background: true });
  }

  /** Stops looking. A moment that is being written is given up. */
  close(): void {
    this.#isClosed = true;
    this.#timer?.cancel();
  }

  /** Keeps the figures of an overview, unless those of the same ten seconds are already kept. */
  see(overview: Overview): void {
    const moment = momentOf(overview);
    const last = this.#moments.at(-1);
    if (last !== undefined && slotOf(last) === slotOf(moment)) return;
    this.#moments = [...this.#moments, moment].filter((each) => isWithin(each, moment.at));
    if (!this.#options.writable || this.isWriting) return;
    this.isWriting = true;
    void this.#write(moment).finally(() => {
      this.isWriting = false;
    });
  }

  /** The moments of the last hour, or those after a time, oldest first. */
  async get(after = 0): Promise<Past> {
    if (this.#options.writable && !this.#isLoaded) {
      this.#loading ??= this.#load().finally(() => {
        this.#loading = undefined;
      });
      await this.#loading;
    }
    const now = this.#options.environment.now();
    return {
      everyMs,
      moments: this.#moments.filter((each) => each.at > after && isWithin(each, now)),
      keptIn: this.#isInDatabase ? "database" : "memory",
    };
  }

  async #load(): Promise<void> {
    const { db, environment } = this.#options;
    const found: PastMoment[] = [];
    try {
      await using snapshot = await db.snapshot();
      for await (const { value } of snapshot.scan(kept.moment, { limit: slots })) found.push(value);
      this.#isLoaded = true;
    } catch {
      // The table may not exist yet, or the store is away. The next request tries again.
    }
    const own = new Map(this.#moments.map((moment) => [slotOf(moment), moment]));
    for (const moment of found) if (!own.has(slotOf(moment))) own.set(slotOf(moment), moment);
    const now = environment.now();
    this.#moments = [...own.values()].filter((each) => isWithin(each, now)).sort((a, b) => a.at - b.at);
  }

  /**
   * Several dashboards may keep moments in one database. Of two for the same ten seconds, the one
   * with rates stays.
   */
  async #write(moment: PastMoment): Promise<void> {
    const { db } = this.#options;
    const row = [slotOf(moment) % slots] as const;
    try {
      await db.transact(
        async (tx) => {
          const there = await tx.get(kept.moment, row);
          const isSame = there !== undefined && slotOf(there) === slotOf(moment);
          if (!isSame || (there.commits === undefined && moment.commits !== undefined))
            tx.set(kept.moment, row, stored(moment));
        },
        { label: pastLabel, retries: 2, timeoutMs: everyMs },
      );
      this.#isInDatabase = true;
    } catch {
      // The store may be read-only, full or away. This moment stays in memory, and the next one is tried.
      if (!this.#isClosed) this.#isInDatabase = false;
    }
  }
}

/** JSON has no undefined: unknown rates are left out. */
const stored = (moment: PastMoment): PastMoment =>
  Object.fromEntries(
    Object.entries(moment).filter(([, value]) => value !== undefined),
  ) as unknown as PastMoment;

const slotOf = ({ at }: PastMoment) => Math.floor(at / everyMs);
const isWithin = ({ at }: PastMoment, now: number) => at > now - hourMs && at <= now + everyMs;

function momentOf(overview: Overview): PastMoment {
  const { now, reach, observers, pending, parked, commitsPerSecond, conflictsPerSecond } = overview;
  const isHeard = reach !== "store";
  const worst = observers.toSorted((a, b) => weightOf(b) - weightOf(a)).slice(0, maxObservers);
  return {
    at: now,
    pending: pending.count,
    oldestMs: Math.round(Math.max(0, ...observers.map(({ oldestPendingMs = 0 }) => oldestPendingMs))),
    parked: parked.count,
    commits: isHeard ? rounded(commitsPerSecond) : undefined,
    conflicts: isHeard ? rounded(conflictsPerSecond) : undefined,
    failures: isHeard ? rounded(sumOf(observers, ({ failuresPerSecond }) => failuresPerSecond)) : undefined,
    observers: Object.fromEntries(
      worst.map((observer) => [
        observer.name,
        [
          observer.pending.count,
          Math.round(observer.oldestPendingMs ?? 0),
          observer.parked.count,
          rounded(observer.failuresPerSecond),
          observer.hosts,
          observer.retrying.count,
        ],
      ]),
    ),
  };
}

const weightOf = ({ pending, parked }: Overview["observers"][number]) => pending.count + parked.count;
const rounded = (rate: number) => Math.round(rate * 100) / 100;
