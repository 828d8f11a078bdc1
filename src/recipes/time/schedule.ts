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
import { takeValue } from "../taken-value.js";
import { bytesOf, columnOf, type View } from "../view.js";
import { ParkedChanges, type ParkedScheduledChange, textOf } from "./schedule-parked.js";
import { sleepOrEnd } from "./sleep.js";

/** What is to happen at a time. */
export interface ScheduledChange<V, K = string> {
  readonly key: K;
  readonly value: V;
  /** When it is due, in milliseconds since 1970. */
  readonly dueAt: number;
}

/** What {@link schedule} is told of a schedule. */
export interface ScheduleOptions<V, K = string> {
  /** What is scheduled, each key at one time. Default: strings. */
  readonly key?: KeyCodec<K> | undefined;
  /** What is kept of it until then. */
  readonly value: Codec<V>;
  /**
   * What happens when the time has come, in the transaction that takes the change off the schedule: it may run several times, and
   * commits once. Let it write or notify, and leave what can fail to an observer of that. One that throws, whose writes are
   * refused, that forgets an `await`, or whose value cannot be read, is put off: by a second at first, then twice as long each time, up
   * to an hour; after `attempts` it is parked.
   */
  readonly fire: (tx: Transaction, change: ScheduledChange<V, K>) => unknown;
  /** How often a change is tried before it is parked. From 1 to 1,000; default: 15, which takes some three hours. */
  readonly attempts?: number | undefined;
  /**
   * Told of every attempt that failed, with a `value` of `undefined` where that cannot be read; and without a change of what kept
   * {@link Schedule.work} from looking, until the next look. Default: nobody.
   */
  readonly onError?:
    | ((error: unknown, change: ScheduledChange<V | undefined, K> | undefined) => void)
    | undefined;
  /** Over how many ranges the changes are spread. From 1 to 1,024; default: 16. Fixed once there are changes. */
  readonly spreads?: number | undefined;
  /** Whose time it is. Default: the system's. */
  readonly environment?: Environment | undefined;
}

/** What {@link Schedule.work} takes. Everything has a default. */
export interface ScheduleWorkOptions {
  /** Ends the work when aborted. */
  readonly signal?: AbortSignal | undefined;
  /** How often is looked for what is due, in milliseconds. From 1 to 3,600,000; default: 1,000. */
  readonly everyMs?: number | undefined;
  /** Told of what the schedule's own `onError` is told of, for the process that works. Default: nobody. */
  readonly onError?: ScheduleOptions<unknown, unknown>["onError"];
}

type DueKey = readonly [spread: number, dueAt: number, key: string];

/** A look at all spreads. */
interface Look {
  readonly db: Database;
  readonly signal: AbortSignal | undefined;
  readonly onError: ScheduleWorkOptions["onError"];
  fired: number;
  /** The first. */
  failure?: { readonly error: unknown };
}

/** The most changes of a spread that one transaction looks up. */
const atOnce = 100;
const maxSpreads = 1_024;
const firstDelayMs = 1_000;
const maxDelayMs = 3_600_000;

// Symbol.for, not instanceof: two copies of the package may meet in one program.
const brand = Symbol.for("percolatordb.schedule");

/** Whether this is a schedule, of whatever copy of the package. @internal */
export function isSchedule(value: unknown): value is AnySchedule {
  return typeof value === "object" && value !== null && brand in value;
}

/** A schedule with its types forgotten: what a worker runs. */
export type AnySchedule = Pick<Schedule<unknown, unknown>, "name" | "tables" | "work">;

/** Changes that are due at a time. Made by {@link schedule}. */
export class Schedule<V, K = string> {
  readonly name: string;
  /** The schedule's tables. */
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
  /** In the order of time: how often each was put off. */
  readonly #due: Column<number, DueKey>;
  readonly #inTurn = callsInTurn();

  get [brand](): true {
    return true;
  }

  /** @internal */
  constructor(name: string, options: ScheduleOptions<V, K>) {
    this.name = name;
    this.#options = options;
    this.#environment = options.environment ?? systemEnvironment;
    this.#keys = keyText(options.key);
    this.#spreads = wholeOption("spreads", options.spreads ?? 16, 1, maxSpreads);
    this.#attempts = wholeOption("attempts", options.attempts ?? 15, 1, 1_000);
    this.#parked = new ParkedChanges(name, options.value, options.key);
    const changes = table(name, { value: options.value, dueAt: float() }, { key: options.key });
    const due = table(`${name}_due`, { delays: int() }, { key: tuple(int(), float(), text()) });
    this.tables = [changes, due, this.#parked.table];
    this.#values = columnOf(changes, "value");
    this.#bytes = bytesOf(this.#values);
    this.#dueAt = columnOf(changes, "dueAt");
    this.#due = due.delays;
  }

  /** Schedules a change for a time, in milliseconds since 1970 or as a Date; replaces what was scheduled for the key. */
  async at(tx: Transaction, key: NoInfer<K>, time: number | Date, value: NoInfer<V>): Promise<void> {
    const dueAt = numberOption("time", Number(time), 0, 8.64e15) + 0; // -0 would sort before 0
    const keyAsText = this.#keys.format(key);
    this.#checkLength(keyAsText, dueAt);
    const bytes = takeValue(tx, this.#values, key, value);
    await this.#inTurn(tx, () => this.#put(tx, this.#keys.parse(keyAsText), dueAt, bytes));
  }

  /** Throws for a key that would be too long in some spread, so that the longest key does not depend on its hash. */
  #checkLength(keyAsText: string, dueAt: number): void {
    try {
      this.#due.table.key.encode([maxSpreads - 1, dueAt, keyAsText]);
    } catch (cause) {
      if (!(cause instanceof InvalidKeyError)) throw cause;
      throw new InvalidKeyError(
        `Schedule "${this.name}", key ${JSON.stringify(keyAsText.slice(0, 50))}…: ${cause.message}. The key stands behind its spread and ` +
          "time in the schedule, which take some bytes. Schedule a shorter key, such as a hash of this one.",
        { cause },
      );
    }
  }

  /** Schedules a change for so many milliseconds from now. */
  after(tx: Transaction, key: NoInfer<K>, delayMs: number, value: NoInfer<V>): Promise<void> {
    return this.at(tx, key, this.#environment.now() + numberOption("delayMs", delayMs, 0, 8.64e15), value);
  }

  /** Takes a change off the schedule. False where there is none: it was not scheduled, or has fired. */
  cancel(tx: Transaction, key: NoInfer<K>): Promise<boolean> {
    return this.#inTurn(tx, () => this.#cancel(tx, key));
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

  /** What is scheduled for a key. */
  async get(view: View, key: NoInfer<K>): Promise<ScheduledChange<V, K> | undefined> {
    const [dueAt, value] = await Promise.all([view.get(this.#dueAt, key), view.get(this.#values, key)]);
    return dueAt === undefined ? undefined : { key, dueAt, value: value as V };
  }

  /** What was given up after its last attempt, by key. */
  parked(view: View): AsyncGenerator<ParkedScheduledChange<V, K>, void, undefined> {
    return this.#parked.list(view);
  }

  /** Schedules what is parked for now, in place of what is scheduled for the key. False where nothing is parked. */
  retry(tx: Transaction, key: NoInfer<K>): Promise<boolean> {
    return this.#inTurn(tx, async () => {
      const value = await this.#parked.take(tx, key);
      if (value === undefined) return false;
      await this.#put(tx, key, this.#environment.now(), value);
      return true;
    });
  }

  /** Forgets what is parked. False where nothing is. */
  discard(tx: Transaction, key: NoInfer<K>): Promise<boolean> {
    return this.#inTurn(tx, async () => (await this.#parked.take(tx, key)) !== undefined);
  }

  /**
   * Fires what is due now, and resolves to how many committed. Any number of processes may do so at the same time: of those that
   * take the same change one commits, and it fires once.
   *
   * @throws what the database throws; where that is of one change, after the others had their turn.
   */
  async fireDue(db: Database, options: Omit<ScheduleWorkOptions, "everyMs"> = {}): Promise<number> {
    checkOptions("fireDue", options, { signal: "any", onError: "function if given" });
    const { signal, onError } = options;
    const look: Look = { db, signal, onError, fired: 0 };
    const first = Math.floor(this.#environment.random() * this.#spreads);
    for (let n = 0; n < this.#spreads; n++) await this.#fireSpread(look, (first + n) % this.#spreads);
    if (look.failure !== undefined) throw look.failure.error;
    return look.fired;
  }

  /**
   * Fires what becomes due, until the signal is aborted. One process is enough; several share the work.
   *
   * An error is told to `onError`, and the next look tries again.
   *
   * @throws ClosedError if the database was closed. Without `onError` also what the database throws, unless the next look may well
   * succeed.
   */
  async work(db: Database, options: ScheduleWorkOptions = {}): Promise<void> {
    checkOptions("work", options, { signal: "any", everyMs: "any", onError: "function if given" });
    const { signal } = options;
    const everyMs = numberOption("everyMs", options.everyMs ?? 1_000, 1, 3_600_000);
    while (!signal?.aborted) {
      try {
        await this.fireDue(db, { signal, onError: options.onError });
      } catch (error) {
        if (signal?.aborted) return;
        const isTold = this.#options.onError !== undefined || options.onError !== undefined;
        if (isClosed(error) || (!isTold && !mayPass(error))) throw error;
        this.#options.onError?.(error, undefined);
        options.onError?.(error, undefined);
      }
      await sleepOrEnd(this.#environment, everyMs, signal);
    }
  }

  async #fireSpread(look: Look, spread: number): Promise<void> {
    const { db, signal } = look;
    const now = this.#environment.now();
    let last: DueKey | undefined;
    for (;;) {
      const from: DueKey = last ?? [spread, 0, ""];
      const due = await db.transact((tx) => this.#dueUntil(tx, from, now), { signal });
      // The last of the page before, if it is still there, has had its turn.
      const isAgain = last !== undefined && due[0]?.[1] === last[1] && due[0][2] === last[2];
      for (const row of isAgain ? due.slice(1) : due) await this.#fireInLook(look, row);
      if (due.length <= atOnce) return;
      last = due.at(-1)!;
    }
  }

  /** A failure is kept for later, so that the other changes of the look are not held up. */
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

  /** Whether the change was there, and has fired. One that fails is put off, so that others are not held up. */
  async #fire({ db, signal, onError }: Look, row: DueKey): Promise<boolean> {
    const attempt: { change?: ScheduledChange<V | undefined, K>; thrown?: { readonly error: unknown } } = {};
    // Of each attempt its own: `fire` may change what it is given.
    const keyOf = () => this.#keys.parse(row[2]);
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
        attempt.thrown = { error };
        throw error;
      }
      return true;
    };
    try {
      return await db.transact(run, { signal, label: this.name });
    } catch (error) {
      const { change, thrown } = attempt;
      const isItsOwn = thrown === undefined ? isRefusal(error) : Object.is(thrown.error, error);
      if (change === undefined || !isItsOwn) throw error;
      await this.#fail(db, row, keyOf(), error, signal);
      this.#options.onError?.(error, change);
      onError?.(error, change);
      return false;
    }
  }

  /** Moves a change that failed into the future, or after its last attempt out of the schedule. */
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

/** Whether what was written cannot be, what is there cannot be read, or an `await` is missing: it would be so every time. */
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

/** Whether the next look may well succeed. */
function mayPass(error: unknown): boolean {
  return error instanceof PercolatorError && (error.retryable || setbacks.has(error.code));
}

/**
 * Changes that happen at a time: reminders, delayed notifications, expiry. What is due fires in a transaction that takes it off the
 * schedule, so that it commits exactly once, though it may be late: by as long as nobody works.
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
