import {
  type AnyTable,
  type Codec,
  type Column,
  type Database,
  type Environment,
  float,
  int,
  type KeyCodec,
  PercolatorError,
  systemEnvironment,
  type Transaction,
  table,
  text,
  tuple,
} from "../index.js";
import { hashText } from "./hash.js";
import { type KeyText, keyText } from "./key-text.js";
import { numberOption, wholeOption } from "./options.js";
import { sleepUnlessAborted } from "./sleep.js";
import { columnOf, type View } from "./view.js";

/** What is to happen at a time. */
export interface ScheduledChange<V, K = string> {
  readonly key: K;
  readonly value: V;
  /** When it is due, in milliseconds since 1970. */
  readonly dueAt: number;
}

export interface ScheduleOptions<V, K = string> {
  /** What is scheduled, each key at one time. Default: strings. */
  readonly key?: KeyCodec<K> | undefined;
  /** What is kept of it until then. */
  readonly value: Codec<V>;
  /**
   * What happens when the time has come, in the transaction that takes the change off the schedule: it may run several times, and
   * commits once. Let it write or notify, and leave what can fail to an observer of that. One that throws is put off: by a
   * second at first, then twice as long each time, up to an hour.
   */
  readonly fire: (tx: Transaction, change: ScheduledChange<V, K>) => unknown;
  /** Told of every `fire` that threw. Default: nobody. */
  readonly onError?: ((error: unknown, change: ScheduledChange<V, K>) => void) | undefined;
  /** Over how many ranges the changes are spread. From 1 to 1,024; default: 16. Fixed once there are changes. */
  readonly spreads?: number | undefined;
  /** Whose time it is. Default: the system's. */
  readonly environment?: Environment | undefined;
}

export interface ScheduleWorkOptions {
  /** Ends the work when aborted. */
  readonly signal?: AbortSignal | undefined;
  /** How often is looked for what is due, in milliseconds. From 1 to 3,600,000; default: 1,000. */
  readonly everyMs?: number | undefined;
}

type DueKey = readonly [spread: number, dueAt: number, key: string];

/** The most changes of a spread that one look takes on. */
const atOnce = 100;
const firstDelayMs = 1_000;
const longestDelayMs = 3_600_000;

/** Changes that are due at a time. Made by {@link schedule}. */
export class Schedule<V, K = string> {
  readonly name: string;
  /** The schedule's tables. */
  readonly tables: readonly AnyTable[];
  readonly #options: ScheduleOptions<V, K>;
  readonly #environment: Environment;
  readonly #keys: KeyText<K>;
  readonly #spreads: number;
  readonly #values: Column<V, K>;
  readonly #dueAt: Column<number, K>;
  /** In the order of time: how often each was put off. */
  readonly #due: Column<number, DueKey>;

  /** @internal */
  constructor(name: string, options: ScheduleOptions<V, K>) {
    this.name = name;
    this.#options = options;
    this.#environment = options.environment ?? systemEnvironment;
    this.#keys = keyText(options.key);
    this.#spreads = wholeOption("spreads", options.spreads ?? 16, 1, 1_024);
    const changes = table(name, { value: options.value, dueAt: float() }, { key: options.key });
    const due = table(`${name}_due`, { delays: int() }, { key: tuple(int(), float(), text()) });
    this.tables = [changes, due];
    this.#values = columnOf(changes, "value");
    this.#dueAt = columnOf(changes, "dueAt");
    this.#due = due.delays;
  }

  /** Schedules a change for a time, in milliseconds since 1970 or as a Date; replaces what was scheduled for the key. */
  async at(tx: Transaction, key: NoInfer<K>, time: number | Date, value: NoInfer<V>): Promise<void> {
    const dueAt = numberOption("time", Number(time), 0, 8.64e15) + 0; // -0 would sort before 0
    await this.cancel(tx, key);
    tx.set(this.#values, key, value);
    tx.set(this.#dueAt, key, dueAt);
    tx.set(this.#due, this.#dueKey(key, dueAt), 0);
  }

  /** Schedules a change for so many milliseconds from now. */
  after(tx: Transaction, key: NoInfer<K>, delayMs: number, value: NoInfer<V>): Promise<void> {
    return this.at(tx, key, this.#environment.now() + numberOption("delayMs", delayMs, 0, 8.64e15), value);
  }

  /** Takes a change off the schedule. False where there is none: it was not scheduled, or has fired. */
  async cancel(tx: Transaction, key: NoInfer<K>): Promise<boolean> {
    const dueAt = await tx.get(this.#dueAt, key);
    if (dueAt === undefined) return false;
    tx.delete(this.#values, key);
    tx.delete(this.#dueAt, key);
    tx.delete(this.#due, this.#dueKey(key, dueAt));
    return true;
  }

  /** What is scheduled for a key. */
  async get(view: View, key: NoInfer<K>): Promise<ScheduledChange<V, K> | undefined> {
    const [dueAt, value] = await Promise.all([view.get(this.#dueAt, key), view.get(this.#values, key)]);
    return dueAt === undefined ? undefined : { key, dueAt, value: value as V };
  }

  /**
   * Fires what is due now, and resolves to how many committed. Any number of processes may do so at the same time: of those that
   * take the same change one commits, and it fires once.
   */
  async fireDue(
    db: Database,
    { signal }: { readonly signal?: AbortSignal | undefined } = {},
  ): Promise<number> {
    let fired = 0;
    const first = Math.floor(this.#environment.random() * this.#spreads);
    for (let n = 0; n < this.#spreads; n++)
      fired += await this.#fireSpread(db, (first + n) % this.#spreads, signal);
    return fired;
  }

  /**
   * Fires what becomes due, until the signal is aborted. One process is enough; several share the work.
   *
   * @throws what the database throws, unless it is worth another try at the next look.
   */
  async work(db: Database, options: ScheduleWorkOptions = {}): Promise<void> {
    const { signal } = options;
    const everyMs = numberOption("everyMs", options.everyMs ?? 1_000, 1, 3_600_000);
    while (!signal?.aborted) {
      try {
        await this.fireDue(db, { signal });
      } catch (error) {
        if (signal?.aborted) return;
        if (!(error instanceof PercolatorError && error.retryable)) throw error;
      }
      await sleepUnlessAborted(this.#environment, everyMs, signal);
    }
  }

  async #fireSpread(db: Database, spread: number, signal: AbortSignal | undefined): Promise<number> {
    let fired = 0;
    const now = this.#environment.now();
    for (;;) {
      const due = await db.transact((tx) => this.#dueUntil(tx, spread, now), { signal });
      for (const row of due) if (await this.#fire(db, row, signal)) fired++;
      if (due.length < atOnce) return fired;
    }
  }

  async #dueUntil(tx: Transaction, spread: number, now: number): Promise<readonly DueKey[]> {
    const due: DueKey[] = [];
    const range = { start: [spread, 0, ""], end: [spread, now, "\u{10ffff}"], limit: atOnce } as const;
    for await (const { row } of tx.scan(this.#due, range)) due.push(row);
    return due;
  }

  /** Whether the change was there, and has fired. One that throws is put off, so that others are not held up. */
  async #fire(db: Database, row: DueKey, signal: AbortSignal | undefined): Promise<boolean> {
    const failure: { error?: unknown; change?: ScheduledChange<V, K> } = {};
    const key = this.#keys.parse(row[2]);
    const run = async (tx: Transaction): Promise<boolean> => {
      if ((await tx.get(this.#due, row)) === undefined) return false;
      const change = (await this.get(tx, key))!;
      await this.cancel(tx, key);
      tx.delete(this.#due, row);
      try {
        await this.#options.fire(tx, change);
      } catch (error) {
        Object.assign(failure, { error, change });
        throw error;
      }
      return true;
    };
    try {
      return await db.transact(run, { signal, label: this.name });
    } catch (error) {
      if (failure.change === undefined || failure.error !== error) throw error;
      await this.#putOff(db, row, signal);
      this.#options.onError?.(error, failure.change);
      return false;
    }
  }

  /** Moves a change into the future. */
  async #putOff(db: Database, row: DueKey, signal: AbortSignal | undefined): Promise<void> {
    await db.transact(
      async (tx) => {
        const delays = await tx.get(this.#due, row);
        if (delays === undefined) return;
        const key = this.#keys.parse(row[2]);
        const dueAt = this.#environment.now() + Math.min(firstDelayMs * 2 ** delays, longestDelayMs);
        tx.delete(this.#due, row);
        tx.set(this.#dueAt, key, dueAt);
        tx.set(this.#due, this.#dueKey(key, dueAt), Math.min(delays + 1, 30));
      },
      { signal },
    );
  }

  #dueKey(key: K, dueAt: number): DueKey {
    const keyAsText = this.#keys.format(key);
    return [hashText(keyAsText) % this.#spreads, dueAt, keyAsText];
  }
}

/**
 * Changes that happen at a time: reminders, delayed notifications, expiry. What is due fires in a transaction that takes it off the
 * schedule, so that it commits exactly once, though it may be late: by as long as nobody works.
 *
 * Declares the tables `NAME` and `NAME_due`.
 *
 * @example
 * const rechecks = schedule("rechecks", {
 *   value: boolean(),
 *   fire: (tx, { key }) => tx.notify(documents.recheck, key),
 * });
 * await db.transact((tx) => rechecks.after(tx, url, 86_400_000, true));
 * await rechecks.work(db, { signal });
 */
export function schedule<V, K = string>(name: string, options: ScheduleOptions<V, K>): Schedule<V, K> {
  return new Schedule(name, options);
}
