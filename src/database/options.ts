import type { Environment } from "../environment/index.js";
import { InvalidArgumentError } from "../errors/index.js";
import type { Observer } from "../observer/index.js";
import type { Oracle } from "../oracle/index.js";
import { type AnyTable, describeValue, type Feed } from "../schema/index.js";
import type { CommitHooks } from "../transaction/index.js";
import { type CoordinatorOption, coordinatorChoice } from "./coordination/coordinator-choice.js";

/** Receives a database's messages: `console`, or any logger with these methods. Default: none. */
export interface Logger {
  info(message: string, details?: Readonly<Record<string, unknown>>): void;
  warn(message: string, details?: Readonly<Record<string, unknown>>): void;
  error(message: string, details?: Readonly<Record<string, unknown>>): void;
}

/** The options of `open`. Each has a default. */
export interface OpenOptions {
  /**
   * Tables to record, or to compare with what is recorded. Tables that are not listed are recorded
   * when they are first used. Default: none.
   */
  readonly tables?: readonly AnyTable[] | undefined;
  /**
   * Observers that this process runs. `open` registers them; `db.work()` and `db.drain()` run them.
   * Default: none.
   */
  readonly observers?: readonly Observer[] | undefined;
  /**
   * Feeds to record, or to compare with what is recorded. From then on, transactions of all
   * processes add their changes to them. Default: none.
   */
  readonly feeds?: readonly Feed[] | undefined;
  /**
   * Derived tables whose tables and observers count as listed. `open` does not backfill them: call
   * `backfill` of each, as `percolator worker` does. Default: none.
   */
  readonly derivations?:
    | readonly { readonly tables: readonly AnyTable[]; readonly observers: readonly Observer[] }[]
    | undefined;
  /**
   * Schedules whose tables count as listed. They fire only while a process calls `work` of each, as
   * `percolator worker` does. Default: none.
   */
  readonly schedules?: readonly { readonly tables: readonly AnyTable[] }[] | undefined;
  /**
   * Unique constraints and indexes whose tables and observers count as listed. Default: none.
   */
  readonly lookups?:
    | readonly { readonly table: AnyTable; readonly observer?: Observer | undefined }[]
    | undefined;
  /**
   * When a transaction counts as committed. `"full"` (default): when it is on disk. `"none"`: when
   * it is in the database file, or committed by the server of PostgreSQL, before the flush. A power
   * failure may then lose the newest transactions. If it loses a transaction, it also loses every newer one. It never loses only part
   * of a transaction.
   */
  readonly durability?: "full" | "none" | undefined;
  /**
   * `"auto"` (default): one phase if the store supports it. `"two-phase"` forces the full protocol.
   */
  readonly commit?: "auto" | "two-phase" | undefined;
  /**
   * How long the database keeps old versions for snapshots of the past, in milliseconds. The
   * database records it, and later calls of `open` without this option use it. The database uses
   * the value that was given last, but running processes keep the value with which they started. On
   * Bigtable use at least some minutes: the retention must exceed the delay of any request and the
   * error of the clocks. Default: the recorded retention, at first one hour.
   */
  readonly retentionMs?: number | undefined;
  /**
   * Interval of background garbage collection, in milliseconds; 0 turns it off. Default: half of
   * the retention, at least a minute.
   */
  readonly collectEveryMs?: number | undefined;
  /**
   * Interval at which this process looks for tables with `ttlMs` that are due for a sweep, in
   * milliseconds; 0 turns it off. One process at a time sweeps a table. A sweep deletes the expired
   * cells, and decides when the table is due again: at the earliest after a tenth of its shortest
   * `ttlMs`, and after a second. Default: a minute, or 0 if `collectEveryMs` is 0.
   */
  readonly expireEveryMs?: number | undefined;
  /**
   * Most bytes that one transaction may write: keys and values, and 100 bytes for each cell. Default:
   * 64 MiB.
   */
  readonly transactionBytes?: number | undefined;
  /**
   * How long the owner of a two-phase lock counts as alive after its last refresh, in milliseconds.
   * At most 4,294,967,295. Default: 5,000.
   */
  readonly lockTtlMs?: number | undefined;
  /** Receives messages about background work. Default: none. */
  readonly logger?: Logger | undefined;
  /** Time, randomness and timers. Default: the system's. */
  readonly environment?: Environment | undefined;
  /** The oracle for a store that does not assign timestamps. Default: the coordinator's. */
  readonly oracle?: Oracle | undefined;
  /**
   * The cluster's coordinator. It assigns timestamps if the store does not, and knows which
   * sessions are alive and what each works on. Give `HOST:PORT` of one or several; `"auto"` to find
   * it by the lease in the store, and to start one inside this process if none leads; `false` for
   * none; or an object for tokens and TLS. A folder and PostgreSQL assign timestamps, need no
   * coordinator, and work on if it does not answer. Default: found by the lease if the store does not
   * assign timestamps and no `oracle` is given, else none.
   */
  readonly coordinator?: CoordinatorOption | undefined;
  /**
   * Whether to create the database if it does not exist. With `false`, `open` rejects with a
   * `StoreError` instead. Default: true.
   */
  readonly create?: boolean | undefined;
  /**
   * Opens the database for reading only. It records, registers and collects nothing, and refuses
   * writes with a `StoreError` before they begin. It refuses every call that may write, such as
   * `db.transact`, `db.live` and `db.watch`: read with `db.snapshot`. It also works on a read-only
   * file system, or if this user may not write to the folder. In these two cases LMDB takes no lock.
   * After another process has written to the folder, every read rejects with a `StoreChangedError`.
   * A missing folder is not created. Default: false.
   */
  readonly readOnly?: boolean | undefined;
  /**
   * Turns off the operating system's read-ahead for the embedded store. Use it for databases larger
   * than memory. Default: false.
   */
  readonly noReadAhead?: boolean | undefined;
}

/**
 * The options of `openWithHooks`: those of `open`, hooks between a commit and its store, and a
 * shorter life of caches.
 */
export interface OpenWithHooksOptions extends OpenOptions {
  /**
   * Called for each step of a commit. A hook can delay the step, fail it, or answer in place of the
   * store. Default: none.
   */
  readonly hooks?: CommitHooks | undefined;
  /**
   * Milliseconds for which a process may use what it has read of the registry and of the safepoint,
   * on stores where commits do not check them. Registering an observer waits for twice as long. All
   * processes of a database need the same value. Default: 1,000.
   */
  readonly cacheMs?: number | undefined;
}

/** The settings of an open database: the checked options with their defaults. */
export interface Settings {
  readonly retentionMs: number;
  readonly collectEveryMs: number;
  readonly expireEveryMs: number;
  readonly transactionBytes: number;
  readonly lockTtlMs: number;
  readonly readOnly: boolean;
}

const hourMs = 3_600_000;
const minuteMs = 60_000;
/** A lock record holds its time to live in 32 bits. */
const longestLockTtlMs = 2 ** 32 - 1;

/** Checks the options that can be checked before the store is open. */
export function checkOptions(options: OpenOptions): void {
  checkChoices(options);
  coordinatorChoice(options.coordinator);
  checkSettings(options, hourMs);
}

/** Returns the settings. `recorded` is the retention used if the option is not given. */
export function checkSettings(options: OpenOptions, recorded: number | undefined): Settings {
  const retentionMs = positive("retentionMs", options.retentionMs ?? recorded ?? hourMs, 0);
  return {
    retentionMs,
    collectEveryMs: positive(
      "collectEveryMs",
      options.collectEveryMs ?? Math.max(retentionMs / 2, minuteMs),
      0,
    ),
    expireEveryMs: positive(
      "expireEveryMs",
      options.expireEveryMs ?? (options.collectEveryMs === 0 ? 0 : minuteMs),
      0,
    ),
    transactionBytes: positive("transactionBytes", options.transactionBytes ?? 64 * 1024 * 1024, 1),
    lockTtlMs: positive("lockTtlMs", options.lockTtlMs ?? 5_000, 1, longestLockTtlMs),
    readOnly: options.readOnly ?? false,
  };
}

function positive(name: string, value: number, least: number, most = Number.MAX_VALUE): number {
  if (Number.isFinite(value) && value >= least && value <= most) return value;
  const limit = most === Number.MAX_VALUE ? "" : ` and at most ${most}`;
  throw new InvalidArgumentError(
    `\`${name}\` must be a number of at least ${least}${limit}, not ${describeValue(value)}.`,
  );
}

/** Throws if a word is not among those that the option accepts. */
function checkChoices(options: OpenOptions): void {
  choice("durability", options.durability, ["full", "none"]);
  choice("commit", options.commit, ["auto", "two-phase"]);
}

function choice(name: string, value: string | undefined, allowed: readonly string[]): void {
  if (value === undefined || allowed.includes(value)) return;
  const words = allowed.map((word) => `"${word}"`).join(" or ");
  throw new InvalidArgumentError(`\`${name}\` must be ${words}, not ${JSON.stringify(value)}.`);
}
