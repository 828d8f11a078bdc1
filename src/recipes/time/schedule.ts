import {
  type AnyTable,
  type Codec,
  type Column,
  type Database,
  type Environment,
  type ErrorCode,
  float,
  InvalidKeyError,
  int,
  type KeyCodec,
  PercolatorError,
  systemEnvironment,
  type Transaction,
  table,
  text,
  tuple,
} from "../../index.js";
import { hashText } from "../hash.js";
import { callsInTurn } from "../in-turn.js";
import { type KeyText, keyText } from "../key-text.js";
import { checkOptions, numberOption, wholeOption } from "../options.js";
import { quiet } from "../quiet.js";
import { takeValue } from "../taken-value.js";
import { bytesOf, checkDatabase, checkTransaction, checkView, columnOf, type View } from "../view.js";
import { sleepOrEnd } from "../waiting.js";
import { ParkedChanges, type ParkedScheduledChange, textOf } from "./schedule-parked.js";

/** A change that is scheduled for a time. */
export interface ScheduledChange<V, K = string> {
  readonly key: K;
  readonly value: V;
  /** When the change is due, in milliseconds since 1970. */
  readonly dueAt: number;
}

/** The options of {@link schedule}. */
export interface ScheduleOptions<V, K = string> {
  /** Codec of the keys. Each key is scheduled for at most one time. Default: strings. */
  readonly key?: KeyCodec<K> | undefined;
  /** Codec of the value that is stored until the change fires. */
  readonly value: Codec<V>;
  /**
   * Handles a change when it is due, in the transaction that removes it from the schedule. It may
   * run several times, but commits once. `fire` should only write or notify. An observer of what
   * `fire` wrote should do the work that can fail.
   *
   * The change is delayed if `fire` throws or forgets an `await`, if its writes are refused, or if
   * the value cannot be read. The delay is one second at first, and then doubles each time, up to
   * an hour. After `attempts` failures the change is parked.
   */
  readonly fire: (tx: Transaction, change: ScheduledChange<V, K>) => unknown;
  /**
   * Attempts before a change is parked. From 1 to 1,000. Default: 15, which take about three hours.
   */
  readonly attempts?: number | undefined;
  /**
   * Called for every failed attempt, with a `value` of `undefined` if the value cannot be read. It
   * is called without a change if an error kept {@link Schedule.work} from searching for due
   * changes. What it throws is ignored. Default: none.
   */
  readonly onError?:
    | ((error: unknown, change: ScheduledChange<V | undefined, K> | undefined) => void)
    | undefined;
  /**
   * Number of ranges over which the changes are spread. From 1 to 1,024. Default: 16. Do not change
   * it once there are changes.
   */
  readonly spreads?: number | undefined;
  /** Supplies the time. Default: the system's. */
  readonly environment?: Environment | undefined;
}

/** The options of {@link Schedule.work}. Each has a default. */
export interface ScheduleWorkOptions {
  /** Ends the work when it is aborted. Default: none. */
  readonly signal?: AbortSignal | undefined;
  /**
   * Interval between two searches for due changes, in milliseconds. From 1 to 3,600,000. Default:
   * 1,000.
   */
  readonly everyMs?: number | undefined;
  /** Called, in addition to the schedule's own `onError`, with the same errors. Default: none. */
  readonly onError?: ScheduleOptions<unknown, unknown>["onError"];
}

type DueKey = readonly [spread: number, dueAt: number, key: string];

/** One search for due changes, over all spreads. */
interface Look {
  readonly db: Database;
  readonly signal: AbortSignal | undefined;
  readonly onError: ScheduleWorkOptions["onError"];
  /** The earliest time of the changes that it looks for. */
  readonly from: number;
  fired: number;
  /** The first failure of the search. */
  failure?: { readonly error: unknown };
}

/**
 * Changes of a spread in one page. A transaction reads one more, to find out whether there are
 * more.
 */
const atOnce = 100;
/** Changes of a page that fire at the same time, so that one commit does not wait for the one before. */
const firingAtOnce = 8;
/**
 * How often `fire` runs again after it has thrown a retryable error. It may meet the outage of another
 * database, for whose end a transaction with a signal would wait, and must not hold up the other changes.
 * These take about 8 s in an outage. Conflicts of the transaction itself do not count.
 */
const fireRetries = 12;
const maxSpreads = 1_024;
/**
 * A search from the beginning passes over all changes that have fired and are not collected yet. It is
 * repeated only after so many times as long as it took, or after a minute. In between, a search begins
 * a minute before the last one: transactions that commit later than that are rare.
 */
const wholeShare = 10;
const overlapMs = 60_000;
const firstDelayMs = 1_000;
const maxDelayMs = 3_600_000;

// Symbol.for instead of instanceof, because one program may load two copies of the package.
const brand = Symbol.for("percolatordb.schedule");

/** Whether the value is a schedule, of this or another copy of the package. @internal */
export function isSchedule(value: unknown): value is AnySchedule {
  return typeof value === "object" && value !== null && brand in value;
}

/** A schedule without its type parameters, as a worker runs it. */
export type AnySchedule = Pick<Schedule<unknown, unknown>, "name" | "tables" | "work">;

/** Changes that fire at a time. {@link schedule} creates it. */
export class Schedule<V, K = string> {
  readonly name: string;
  /** The tables of the schedule. List them in `tables` of `open`. */
  readonly tables: readonly AnyTable[];
  readonly #options: ScheduleOptions<V, K>;
  readonly #environment: Environment;
  readonly #keys: KeyText<K>;
  readonly #spreads: number;
  readonly #attempts: number;
  readonly #parked: ParkedChanges<V, K>;
  readonly #values: Column<V, K>;
  readonly #bytes: Column<Uint8Array, K>;
  readonly #dueAt: Column<number, K>;
  /** The changes in the order of their times. The value counts how often the change was delayed. */
  readonly #due: Column<number, DueKey>;
  readonly #inTurn = callsInTurn();

  get [brand](): true {
    return true;
  }

  /** @internal */
  constructor(name: string, options: ScheduleOptions<V, K>) {
    this.name = name;
    // Declared first, because a table's name is checked.
    const changes = table(name, { value: options.value, dueAt: float() }, { key: options.key });
    this.#options = options;
    this.#environment = options.environment ?? systemEnvironment;
    this.#keys = keyText(options.key);
    this.#spreads = wholeOption("spreads", options.spreads ?? 16, 1, maxSpreads);
    this.#attempts = wholeOption("attempts", options.attempts ?? 15, 1, 1_000);
    this.#parked = new ParkedChanges(name, options.value, options.key);
    const due = table(`${name}_due`, { delays: int() }, { key: tuple(int(), float(), text()) });
    this.tables = [changes, due, this.#parked.table];
    this.#values = columnOf(changes, "value");
    this.#bytes = bytesOf(this.#values);
    this.#dueAt = columnOf(changes, "dueAt");
    this.#due = due.delays;
  }

  /**
   * Schedules a change for a time, given in milliseconds since 1970 or as a Date. A time in the
   * past is due at once, and so is a time that is given in seconds by mistake. Replaces the change
   * that was scheduled for the key. Takes effect when the transaction commits.
   */
  at(tx: Transaction, key: NoInfer<K>, time: number | Date, value: NoInfer<V>): Promise<void> {
    return quiet(this.#at(tx, key, time, value));
  }

  async #at(tx: Transaction, key: K, time: number | Date, value: V): Promise<void> {
    checkTransaction("at", tx);
    const isDate = typeof (time as Partial<Date> | null)?.getTime === "function";
    const given = isDate ? (time as Date).getTime() : (time as number);
    const dueAt = numberOption("time", given, 0, 8.64e15) + 0; // -0 would sort before 0
    const keyAsText = this.#keys.format(key);
    this.#checkLength(keyAsText, dueAt);
    const bytes = takeValue(tx, this.#values, key, value);
    await this.#inTurn(tx, () => this.#put(tx, this.#keys.parse(keyAsText), dueAt, bytes));
  }

  /**
   * Throws if the key is too long for a row with the largest spread. Whether a key is accepted
   * therefore does not depend on its hash.
   */
  #checkLength(keyAsText: string, dueAt: number): void {
    try {
      this.#due.table.key.encode([maxSpreads - 1, dueAt, keyAsText]);
    } catch (cause) {
      if (!(cause instanceof PercolatorError && cause.code === "INVALID_KEY")) throw cause;
      throw new InvalidKeyError(
        `Schedule "${this.name}", key ${JSON.stringify(keyAsText.slice(0, 50))}…: ${cause.message}. The schedule stores the key after a spread ` +
          "and a time, which take some bytes. Schedule a shorter key, such as a hash of this one.",
        { cause },
      );
    }
  }

  /** Schedules a change for `delayMs` milliseconds from now. In all else it is like {@link at}. */
  after(tx: Transaction, key: NoInfer<K>, delayMs: number, value: NoInfer<V>): Promise<void> {
    return this.at(tx, key, this.#environment.now() + numberOption("delayMs", delayMs, 0, 8.64e15), value);
  }

  /**
   * Removes a change from the schedule. Resolves to false if there is none: it was not scheduled,
   * or has fired.
   */
  cancel(tx: Transaction, key: NoInfer<K>): Promise<boolean> {
    checkTransaction("cancel", tx);
    return quiet(this.#inTurn(tx, () => this.#cancel(tx, key)));
  }

  async #put(tx: Transaction, key: K, dueAt: number, value: Uint8Array): Promise<void> {
    await this.#cancel(tx, key);
    tx.set(this.#bytes, key, value);
    tx.set(this.#dueAt, key, dueAt);
    tx.set(this.#due, this.#dueKey(key, dueAt), 0);
  }

  async #cancel(tx: Transaction, key: K): Promise<boolean> {
    const dueAt = await tx.get(this.#dueAt, key);
    if (dueAt === undefined) return false;
    tx.delete(this.#values, key);
    tx.delete(this.#dueAt, key);
    tx.delete(this.#due, this.#dueKey(key, dueAt));
    return true;
  }

  /** Returns the change that is scheduled for a key, or undefined if there is none. */
  async get(view: View, key: NoInfer<K>): Promise<ScheduledChange<V, K> | undefined> {
    checkView("get", view);
    const [dueAt, value] = await Promise.all([view.get(this.#dueAt, key), view.get(this.#values, key)]);
    return dueAt === undefined ? undefined : { key, dueAt, value: value as V };
  }

  /** Yields the parked changes, in the order of their keys. */
  parked(view: View): AsyncGenerator<ParkedScheduledChange<V, K>, void, undefined> {
    checkView("parked", view);
    return this.#parked.list(view);
  }

  /**
   * Schedules a parked change for now, in place of any change that is scheduled for the key.
   * Resolves to false if none is parked.
   */
  retry(tx: Transaction, key: NoInfer<K>): Promise<boolean> {
    checkTransaction("retry", tx);
    return quiet(this.#inTurn(tx, () => this.#retry(tx, key)));
  }

  async #retry(tx: Transaction, key: K): Promise<boolean> {
    const value = await this.#parked.take(tx, key);
    if (value === undefined) return false;
    await this.#put(tx, key, this.#environment.now(), value);
    return true;
  }

  /** Deletes a parked change. Resolves to false if none is parked. */
  discard(tx: Transaction, key: NoInfer<K>): Promise<boolean> {
    checkTransaction("discard", tx);
    return quiet(this.#inTurn(tx, async () => (await this.#parked.take(tx, key)) !== undefined));
  }

  /**
   * Fires the changes that are due now. Resolves to the number that committed. Several processes
   * may call it at the same time: if two take the same change, only one commits.
   *
   * @throws whatever the database throws. If firing one change throws, the call fires the other
   * changes before it rejects.
   */
  async fireDue(db: Database, options: Omit<ScheduleWorkOptions, "everyMs"> = {}): Promise<number> {
    checkDatabase("fireDue", db);
    checkOptions("fireDue", options, { signal: "any", onError: "function if given" });
    return this.#fireFrom(db, options, 0);
  }

  async #fireFrom(
    db: Database,
    options: Omit<ScheduleWorkOptions, "everyMs">,
    from: number,
  ): Promise<number> {
    const { signal, onError } = options;
    const look: Look = { db, signal, onError, from, fired: 0 };
    const first = Math.floor(this.#environment.random() * this.#spreads);
    for (let n = 0; n < this.#spreads; n++) await this.#fireSpread(look, (first + n) % this.#spreads);
    if (look.failure !== undefined) throw look.failure.error;
    return look.fired;
  }

  /**
   * Fires changes when they become due, until the signal is aborted. One process is enough. Several
   * processes share the work. An error goes to `onError`, and the next search tries again.
   *
   * @throws ClosedError if the database was closed.
   * @throws whatever else the database throws, if there is no `onError` and the error is not
   * temporary.
   */
  async work(db: Database, options: ScheduleWorkOptions = {}): Promise<void> {
    checkDatabase("work", db);
    checkOptions("work", options, { signal: "any", everyMs: "any", onError: "function if given" });
    const { signal } = options;
    const everyMs = numberOption("everyMs", options.everyMs ?? 1_000, 1, 3_600_000);
    let wholeAt = Number.NEGATIVE_INFINITY;
    let lookedAt = 0;
    while (!signal?.aborted) {
      const now = this.#environment.now();
      const begunAt = this.#environment.monotonic();
      const isWhole = begunAt >= wholeAt;
      try {
        await this.#fireFrom(db, options, isWhole ? 0 : Math.max(0, Math.min(now, lookedAt) - overlapMs));
        if (isWhole) {
          const endedAt = this.#environment.monotonic();
          wholeAt = endedAt + Math.min(wholeShare * (endedAt - begunAt), overlapMs);
        }
        lookedAt = now;
      } catch (error) {
        wholeAt = Number.NEGATIVE_INFINITY;
        if (signal?.aborted) return;
        const isTold = this.#options.onError !== undefined || options.onError !== undefined;
        if (isClosed(error) || (!isTold && !mayPass(error))) throw error;
        this.#tell(options.onError, error, undefined);
      }
      await sleepOrEnd(this.#environment, everyMs, signal);
    }
  }

  async #fireSpread(look: Look, spread: number): Promise<void> {
    const { db, signal } = look;
    const now = this.#environment.now();
    let last: DueKey | undefined;
    for (;;) {
      const from: DueKey = last ?? [spread, look.from, ""];
      const due = await db.transact((tx) => this.#dueUntil(tx, from, now), { signal });
      // A page begins with the last change of the previous page, if that change still exists. This
      // search has already handled it.
      const isAgain = last !== undefined && due[0]?.[1] === last[1] && due[0][2] === last[2];
      await this.#firePage(look, isAgain ? due.slice(1) : due);
      if (due.length <= atOnce) return;
      last = due.at(-1)!;
    }
  }

  async #firePage(look: Look, due: readonly DueKey[]): Promise<void> {
    const rows = due.values();
    const fireSome = async () => {
      for (const row of rows) await this.#fireInLook(look, row);
    };
    await Promise.allSettled(Array.from({ length: firingAtOnce }, fireSome));
    look.signal?.throwIfAborted();
  }

  /**
   * Fires a change. Keeps a failure for later, so that it does not hold up the other changes of the
   * search.
   */
  async #fireInLook(look: Look, row: DueKey): Promise<void> {
    try {
      if (await this.#fire(look, row)) look.fired++;
    } catch (error) {
      if (look.signal?.aborted) throw error;
      look.failure ??= { error };
    }
  }

  async #dueUntil(tx: Transaction, start: DueKey, now: number): Promise<readonly DueKey[]> {
    const due: DueKey[] = [];
    const range = { start, end: [start[0], now, "\u{10ffff}"], limit: atOnce + 1 } as const;
    for await (const { row } of tx.scan(this.#due, range)) due.push(row);
    return due;
  }

  /**
   * Fires a change. Returns whether the change existed and committed. A change that fails is
   * delayed, so that it does not hold up others.
   */
  async #fire({ db, signal, onError }: Look, row: DueKey): Promise<boolean> {
    const attempt: {
      change?: ScheduledChange<V | undefined, K>;
      /** What `fire` threw, and what its transaction failed with because of that. */
      thrown?: { readonly error: unknown; readonly passedOn: unknown };
    } = {};
    // A new copy for each attempt, because `fire` may change its argument.
    const keyOf = () => this.#keys.parse(row[2]);
    let failures = 0;
    const run = async (tx: Transaction): Promise<boolean> => {
      delete attempt.thrown;
      if ((await tx.get(this.#due, row)) === undefined) return false;
      attempt.change = { key: keyOf(), dueAt: row[1], value: undefined };
      const change = (await this.get(tx, keyOf()))!;
      attempt.change = change;
      await this.#cancel(tx, keyOf());
      tx.delete(this.#due, row);
      try {
        await this.#options.fire(tx, change);
      } catch (error) {
        // An error that is not retryable ends `db.transact`.
        const passedOn =
          ++failures > fireRetries ? new Error("`fire` failed too often.", { cause: error }) : error;
        attempt.thrown = { error, passedOn };
        throw passedOn;
      }
      return true;
    };
    try {
      return await db.transact(run, { signal, label: this.name });
    } catch (caught) {
      const { change, thrown } = attempt;
      const isItsOwn = thrown === undefined ? isRefusal(caught) : Object.is(thrown.passedOn, caught);
      if (change === undefined || !isItsOwn) throw caught;
      const error = thrown === undefined ? caught : thrown.error;
      await this.#fail(db, row, keyOf(), error, signal);
      this.#tell(onError, error, change);
      return false;
    }
  }

  /** Calls the schedule's own listener and that of the call. What they throw is ignored. */
  #tell(
    onError: ScheduleWorkOptions["onError"],
    error: unknown,
    change: ScheduledChange<V | undefined, K> | undefined,
  ): void {
    for (const listener of [this.#options.onError, onError]) {
      // An async function also catches what the listener throws at once.
      (async () => listener?.(error, change))().catch(() => undefined);
    }
  }

  /** Delays a change that failed. After its last attempt, parks it. */
  async #fail(
    db: Database,
    row: DueKey,
    key: K,
    error: unknown,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    await db.transact(
      async (tx) => {
        const delays = await tx.get(this.#due, row);
        if (delays === undefined) return;
        const attempts = delays + 1;
        const now = this.#environment.now();
        tx.delete(this.#due, row);
        if (attempts >= this.#attempts) {
          const value = (await tx.get(this.#bytes, key))!;
          await this.#cancel(tx, key);
          const circumstances = { dueAt: row[1], attempts, parkedAt: now, error: textOf(error) };
          this.#parked.add(tx, key, value, circumstances);
          return;
        }
        const dueAt = now + Math.min(firstDelayMs * 2 ** delays, maxDelayMs);
        tx.set(this.#dueAt, key, dueAt);
        tx.set(this.#due, this.#dueKey(key, dueAt), attempts);
      },
      { signal },
    );
  }

  #dueKey(key: K, dueAt: number): DueKey {
    const keyAsText = this.#keys.format(key);
    return [hashText(keyAsText) % this.#spreads, dueAt, keyAsText];
  }
}

const refusals: ReadonlySet<string> = new Set<ErrorCode>([
  "INVALID_VALUE",
  "INVALID_KEY",
  "INVALID_ARGUMENT",
  "LIMIT_EXCEEDED",
  "SCHEMA",
  "UNAWAITED_CALL",
]);

/**
 * Whether the same error would occur at every attempt: a write is invalid, the stored value cannot
 * be read, or an `await` is missing.
 */
function isRefusal(error: unknown): boolean {
  return error instanceof PercolatorError && refusals.has(error.code);
}

const setbacks: ReadonlySet<string> = new Set<ErrorCode>([
  "STORE",
  "STORE_FULL",
  "STORE_BUSY",
  "COORDINATOR",
  "COMMIT_OUTCOME_UNKNOWN",
]);

function isClosed(error: unknown): boolean {
  return error instanceof PercolatorError && error.code === "CLOSED";
}

/** Whether the error may be temporary, so that the next search may succeed. */
function mayPass(error: unknown): boolean {
  return error instanceof PercolatorError && (error.retryable || setbacks.has(error.code));
}

/**
 * Creates a schedule for changes that happen at a time: reminders, delayed notifications, expiry,
 * cron jobs. A due change fires in the transaction that removes it from the schedule, so it commits
 * exactly once. It may fire late: it waits until a process runs {@link Schedule.work} or
 * {@link Schedule.fireDue}.
 *
 * Declares the tables `NAME`, `NAME_due` and `NAME_parked`.
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
  checkOptions("schedule", options, {
    key: "any",
    value: "any",
    fire: "function",
    attempts: "any",
    onError: "function if given",
    spreads: "any",
    environment: "any",
  });
  return new Schedule(name, options);
}
