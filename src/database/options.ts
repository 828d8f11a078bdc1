import type { Environment } from "../environment/index.js";
import { InvalidArgumentError } from "../errors/index.js";
import type { Observer } from "../observer/index.js";
import type { Oracle } from "../oracle/index.js";
import type { AnyTable } from "../schema/index.js";
import type { CommitHooks } from "../transaction/index.js";
import { type CoordinatorOption, coordinatorChoice } from "./coordinator-choice.js";

/** Where a database's messages go: `console`, or any logger with these methods. Default: nowhere. */
export interface Logger {
  info(message: string, details?: Readonly<Record<string, unknown>>): void;
  warn(message: string, details?: Readonly<Record<string, unknown>>): void;
  error(message: string, details?: Readonly<Record<string, unknown>>): void;
}

/** What `open` takes besides a location. Everything has a default. */
export interface OpenOptions {
  /** Tables to record, or to compare with what is recorded. Tables used without being named are recorded then. */
  readonly tables?: readonly AnyTable[] | undefined;
  /** Observers that this process hosts: registered on opening, run by `db.work()` and `db.drain()`. */
  readonly observers?: readonly Observer[] | undefined;
  /**
   * `"full"` (default): a transaction is answered when it is on the disk. `"none"`: when it is in the database file, whose
   * flush follows; a power failure may lose the newest transactions, never an older one without the newer, and never
   * half of one.
   */
  readonly durability?: "full" | "none" | undefined;
  /** `"auto"` (default): one phase where the store can. `"two-phase"` forces the full protocol. */
  readonly commit?: "auto" | "two-phase" | undefined;
  /**
   * How long versions are kept for snapshots of the past, in milliseconds. Recorded in the database for all who open it later without
   * saying; the last one who says so counts, and processes that are running keep theirs. On Bigtable not below some minutes: it must
   * exceed the delay of any request and the error of the clocks. Default: what is recorded; one hour at first.
   */
  readonly retentionMs?: number | undefined;
  /** How often collection runs in the background, in milliseconds; 0 never. Default: half of the retention, at least a minute. */
  readonly collectEveryMs?: number | undefined;
  /** The most bytes of writes of one transaction. Default: 64 MiB. */
  readonly transactionBytes?: number | undefined;
  /** How long the owner of a two-phase lock counts as alive after its last sign, in milliseconds. Default: 5,000. */
  readonly lockTtlMs?: number | undefined;
  /** Gets messages on what goes on in the background. Default: none. */
  readonly logger?: Logger | undefined;
  /** Time, randomness and timers. Default: the system's. */
  readonly environment?: Environment | undefined;
  /** The oracle of a store that has no counter of its own, where it is not the coordinator's. */
  readonly oracle?: Oracle | undefined;
  /**
   * The cluster's coordinator: timestamps where the store does not count by itself, and who lives and works on what. `HOST:PORT`
   * of one or several; `"auto"` finds it by the lease in the store, and starts one inside this process where nobody leads; `false` for
   * none; an object for tokens and TLS. Default: found by the lease where the store does not count by itself and no `oracle` is
   * given; else none.
   */
  readonly coordinator?: CoordinatorOption | undefined;
  /** Makes the database where there is none. With `false`, that is a `StoreError`. Default: true. */
  readonly create?: boolean | undefined;
  /**
   * Opens only to read: nothing is recorded, registered or collected, and what would write is refused with a `StoreError` before it
   * begins. A folder on a file system that can only be read, or that this user may not write, can be opened so. LMDB then takes no lock:
   * once another process has written to the folder, every call that reads rejects with a `StoreChangedError`. A folder that is not there is not made. Default: false.
   */
  readonly readOnly?: boolean | undefined;
  /** For databases larger than memory: the embedded store does not read ahead. Default: false. */
  readonly noReadAhead?: boolean | undefined;
}

/** What `openWithHooks` takes: the options of `open`, and what stands between a commit and its store. */
export interface OpenWithHooksOptions extends OpenOptions {
  /** Called for each step of a commit: can wait, fail, or answer in its place. Default: none. */
  readonly hooks?: CommitHooks | undefined;
}

/** The settings of an open database: the options with their defaults, checked. */
export interface Settings {
  readonly retentionMs: number;
  readonly collectEveryMs: number;
  readonly transactionBytes: number;
  readonly lockTtlMs: number;
  readonly readOnly: boolean;
}

const hourMs = 3_600_000;
const minuteMs = 60_000;

/** Checks what can be checked before anything is opened. */
export function checkOptions(options: OpenOptions): void {
  checkChoices(options);
  coordinatorChoice(options.coordinator);
  checkSettings(options, hourMs);
}

/** The settings, with `recorded` as the retention of who does not say. */
export function checkSettings(options: OpenOptions, recorded: number | undefined): Settings {
  const retentionMs = positive("retentionMs", options.retentionMs ?? recorded ?? hourMs, 0);
  return {
    retentionMs,
    collectEveryMs: positive(
      "collectEveryMs",
      options.collectEveryMs ?? Math.max(retentionMs / 2, minuteMs),
      0,
    ),
    transactionBytes: positive("transactionBytes", options.transactionBytes ?? 64 * 1024 * 1024, 1),
    lockTtlMs: positive("lockTtlMs", options.lockTtlMs ?? 5_000, 1),
    readOnly: options.readOnly ?? false,
  };
}

function positive(name: string, value: number, least: number): number {
  if (Number.isFinite(value) && value >= least) return value;
  throw new InvalidArgumentError(`\`${name}\` must be a number of at least ${least}, not ${String(value)}.`);
}

/** Throws for words that are not among those an option takes. */
function checkChoices(options: OpenOptions): void {
  choice("durability", options.durability, ["full", "none"]);
  choice("commit", options.commit, ["auto", "two-phase"]);
}

function choice(name: string, value: string | undefined, allowed: readonly string[]): void {
  if (value === undefined || allowed.includes(value)) return;
  const words = allowed.map((word) => `"${word}"`).join(" or ");
  throw new InvalidArgumentError(`\`${name}\` must be ${words}, not ${JSON.stringify(value)}.`);
}
