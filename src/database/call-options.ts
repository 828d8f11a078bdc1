import { checkOptionNames, InvalidArgumentError, type OptionNames } from "../errors/index.js";
import type { MigrateOptions, PassOptions } from "../evolution/index.js";
import type { ChangesOptions, LiveOptions, SettledOptions, WatchOptions } from "../live/index.js";
import type {
  BackfillOptions,
  DiscardLoadOptions,
  DrainOptions,
  LoadOptions,
  ParkedOptions,
  PendingOptions,
  UnregisterOptions,
  WorkOptions,
} from "../observer/index.js";
import { describeValue } from "../schema/index.js";
import type {
  CheckOptions,
  CollectOptions,
  HistoryOptions,
  TransactionOptions,
  TransactOptions,
} from "../transaction/index.js";
import type { SnapshotOptions } from "./collection/snapshots.js";
import type { ReachOptions } from "./coordination/reach.js";
import type { DeclaredSchema } from "./declared.js";
import type { OpenOptions } from "./options.js";

/** The options of each call of a database, by the name of the call. */
interface CallOptions {
  open: OpenOptions;
  "db.transact": TransactOptions;
  "db.begin": TransactionOptions;
  "db.snapshot": SnapshotOptions;
  "db.work": WorkOptions;
  "db.drain": DrainOptions;
  "db.idle": DrainOptions;
  "db.pending": PendingOptions;
  "db.parked": ParkedOptions;
  "db.backfill": BackfillOptions;
  "db.unregister": UnregisterOptions;
  "db.load": LoadOptions;
  "db.discardLoad": DiscardLoadOptions;
  "db.collect": CollectOptions;
  "db.check": CheckOptions;
  "db.history": HistoryOptions;
  "db.changes": ChangesOptions;
  "db.follow": ChangesOptions;
  "db.live": LiveOptions;
  "db.watch": WatchOptions;
  "db.settled": SettledOptions;
  "db.schema": DeclaredSchema;
  "db.migrate": MigrateOptions;
  "db.drop": PassOptions;
  "db.removeFeed": SignalOption;
  "db.locks": SignalOption;
  "db.reach": ReachOptions;
}

interface SignalOption {
  readonly signal?: AbortSignal | undefined;
}

const declared: OptionNames<DeclaredSchema> = {
  tables: true,
  observers: true,
  feeds: true,
  derivations: true,
  schedules: true,
  lookups: true,
};
const transaction: OptionNames<TransactionOptions> = {
  isolation: true,
  timeoutMs: true,
  label: true,
  signal: true,
};
const listing: OptionNames<PendingOptions> = { observer: true, signal: true };
const reading: OptionNames<ChangesOptions> = { since: true, signal: true, batch: true, onBegin: true };
const waiting: OptionNames<DrainOptions> = { signal: true, onProgress: true };

const names: { readonly [C in keyof CallOptions]: OptionNames<CallOptions[C]> } = {
  open: {
    ...declared,
    durability: true,
    commit: true,
    retentionMs: true,
    collectEveryMs: true,
    expireEveryMs: true,
    transactionBytes: true,
    lockTtlMs: true,
    logger: true,
    environment: true,
    oracle: true,
    coordinator: true,
    create: true,
    readOnly: true,
    noReadAhead: true,
  },
  "db.transact": { ...transaction, retries: true },
  "db.begin": transaction,
  "db.snapshot": { at: true, signal: true },
  "db.work": { observers: true, concurrency: true, signal: true },
  "db.drain": waiting,
  "db.idle": waiting,
  "db.pending": listing,
  "db.parked": { ...listing, after: true },
  "db.backfill": { range: true, signal: true, onProgress: true },
  "db.unregister": { signal: true, onProgress: true },
  "db.load": { signal: true, onProgress: true },
  "db.discardLoad": { signal: true },
  "db.collect": { signal: true, retentionMs: true, onProgress: true },
  "db.history": { limit: true },
  "db.check": { signal: true, onProgress: true, maxProblems: true },
  "db.changes": reading,
  "db.follow": reading,
  "db.watch": { prefix: true, since: true, signal: true },
  "db.live": { signal: true, throttleMs: true, timeoutMs: true },
  "db.settled": { observers: true, except: true, timeoutMs: true, signal: true },
  "db.drop": { rate: true, signal: true, onProgress: true },
  "db.removeFeed": { signal: true },
  "db.locks": { signal: true },
  "db.reach": { timeoutMs: true },
  "db.schema": declared,
  "db.migrate": { check: true, rate: true, signal: true, onProgress: true },
};

/**
 * Checks of option values, by the option's name. They exist for options whose invalid values would
 * otherwise be used without an error. A check applies to every call that has its option.
 */
const checks: Readonly<
  Record<string, { readonly wanted: string; readonly fits: (value: unknown) => boolean }>
> = {
  isolation: {
    wanted: '"snapshot" or "serializable"',
    fits: (value) => value === "snapshot" || value === "serializable",
  },
  signal: { wanted: "an AbortSignal", fits: isAbortSignal },
  tables: { wanted: "an array of tables", fits: Array.isArray },
  observers: { wanted: "an array of observers", fits: Array.isArray },
  derivations: { wanted: "an array of derivations", fits: isArrayWith("tables", "observers") },
  schedules: { wanted: "an array of schedules", fits: isArrayWith("tables") },
  lookups: { wanted: "an array of unique constraints and indexes", fits: isArrayWith("table") },
  except: { wanted: "an array of observers", fits: Array.isArray },
  range: { wanted: "an object such as { prefix, start, end }", fits: isObject },
  retentionMs: {
    wanted: "a number of milliseconds, 0 or more",
    fits: (value) => Number.isFinite(value) && (value as number) >= 0,
  },
  limit: {
    wanted: "a whole number of 1 or more",
    fits: (value) => Number.isInteger(value) && (value as number) >= 1,
  },
  maxProblems: {
    wanted: "a whole number of 1 or more",
    fits: (value) => Number.isInteger(value) && (value as number) >= 1,
  },
};

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

/** Returns whether a value is an array of objects that have these properties. */
function isArrayWith(...properties: readonly string[]): (value: unknown) => boolean {
  return (value) =>
    Array.isArray(value) &&
    value.every((each) => isObject(each) && properties.every((property) => property in each));
}

/**
 * Whether the value has the members of an `AbortSignal`. An `instanceof` check would refuse signals
 * of another realm, and those that a polyfill made.
 */
function isAbortSignal(value: unknown): boolean {
  if (!isObject(value)) return false;
  const { aborted, addEventListener } = value as Partial<AbortSignal>;
  return typeof aborted === "boolean" && typeof addEventListener === "function";
}

/**
 * Returns the options unchanged. Throws an InvalidArgumentError if the call has no such option, or
 * if a value is invalid.
 */
export function known<C extends keyof CallOptions>(call: C, options: CallOptions[C]): CallOptions[C] {
  checkOptionNames(call, options, names[call]);
  for (const name in options) {
    const value: unknown = options[name];
    const check = checks[name];
    if (value === undefined || check === undefined || check.fits(value)) continue;
    throw new InvalidArgumentError(
      `\`${name}\` of \`${call}\` must be ${check.wanted}, not ${describeValue(value)}.`,
    );
  }
  return options;
}
