import type { Backoff } from "../environment/index.js";
import { ObserverError, type OptionNames } from "../errors/index.js";
import { describeValue } from "../schema/index.js";
import type { Isolation } from "../transaction/index.js";

/** The options of an observer. All are optional. */
export interface ObserverOptions {
  /**
   * Number of failed runs after which a change is parked. A run whose process is killed counts as
   * failed too, so with 1 such a kill parks the change. From 1 to 1,000. Default: 5.
   */
  readonly attempts?: number | undefined;
  /**
   * The wait between attempts, `{ initialMs, maximumMs }`. It doubles each time, and half of it is
   * jitter. Default: at first 100 ms, at most 60,000 ms.
   */
  readonly backoff?: Partial<Backoff> | undefined;
  /**
   * Milliseconds after which a run counts as failed. Its transaction then refuses every call.
   * `Infinity` means no limit. Default: 60,000.
   */
  readonly timeoutMs?: number | undefined;
  /** The most runs at the same time in one process. Default: as many as the worker allows. */
  readonly concurrency?: number | undefined;
  /** The isolation of the run's transaction. Default: `"snapshot"`. */
  readonly isolation?: Isolation | undefined;
  /**
   * A worker takes changes of observers with a higher priority first. From -1,000,000 to 1,000,000.
   * Default: 0.
   */
  readonly priority?: number | undefined;
  /**
   * Raise it after a change of `run` that must also apply to cells that earlier versions have
   * handled. `db.backfill` then runs the observer on those cells again. From 1 to 2^31 - 1.
   * Default: 1.
   */
  readonly version?: number | undefined;
}

/** The options of {@link batchObserver}. All are optional. */
export interface BatchOptions extends ObserverOptions {
  /**
   * The most changes that one run handles. A run also takes no more once their values and
   * previous values have 16 MB. From 1 to 10,000. Default: 100.
   */
  readonly batch?: number | undefined;
  /**
   * The most runs at the same time in one process. Raise it if a run waits for other systems, and writes
   * no cell that other runs write too. Default: 1, since changes gather meanwhile.
   */
  readonly concurrency?: number | undefined;
}

/** The options with their defaults filled in. */
export interface CheckedOptions {
  readonly attempts: number;
  readonly backoff: Backoff;
  readonly timeoutMs: number;
  readonly concurrency: number;
  readonly isolation: Isolation;
  readonly priority: number;
  readonly version: number;
}

const optionNames: OptionNames<ObserverOptions> = {
  attempts: true,
  backoff: true,
  timeoutMs: true,
  concurrency: true,
  isolation: true,
  priority: true,
  version: true,
};
const batchNames: OptionNames<BatchOptions> = { ...optionNames, batch: true };
const backoffNames: OptionNames<Backoff> = { initialMs: true, maximumMs: true };
const infinity = Number.POSITIVE_INFINITY;
const maxAttempts = 1_000;
const highestVersion = 2 ** 31 - 1;
const maxBatch = 10_000;

/** Fills in the defaults. Throws an {@link ObserverError} for an invalid option. */
export function checkOptions(observer: string, options: ObserverOptions): CheckedOptions {
  checkIsObject(observer, options);
  return checkNamed(observer, options, optionNames);
}

function checkIsObject(observer: string, options: unknown, what = "the options"): void {
  if (typeof options === "object" && options !== null) return;
  throw new ObserverError(
    `Observer "${observer}": ${what} must be an object, not ${describeValue(options)}.`,
  );
}

/** The same for {@link batchObserver}. */
export function checkBatchOptions(
  observer: string,
  options: BatchOptions,
): CheckedOptions & { readonly batch: number } {
  checkIsObject(observer, options);
  const { batch = 100, concurrency = 1 } = options;
  const checked = checkNamed(observer, { ...options, concurrency }, batchNames);
  return { ...checked, batch: numberOf(observer, "batch", batch, 1, maxBatch, true) };
}

function numberOf(
  observer: string,
  name: string,
  value: number,
  least: number,
  most: number,
  whole: boolean,
): number {
  const fits = value >= least && value <= most && (!whole || Number.isInteger(value) || value === infinity);
  if (typeof value === "number" && fits) return value;
  const kind = whole ? "a whole number" : "a number";
  throw new ObserverError(
    `Observer "${observer}": \`${name}\` must be ${kind} from ${least} to ${most}, not ${describeValue(value)}.`,
  );
}

/** `path`: what stands before the names in messages. */
function checkNames(
  observer: string,
  options: object,
  names: Readonly<Record<string, true>>,
  path = "",
): void {
  const unknown = Object.entries(options).find(([name, value]) => value !== undefined && !(name in names));
  if (unknown === undefined) return;
  const list = Object.keys(names)
    .map((name) => `\`${path}${name}\``)
    .join(", ");
  throw new ObserverError(`Observer "${observer}" has no option \`${path}${unknown[0]}\`. It takes ${list}.`);
}

function checkNamed(
  observer: string,
  options: ObserverOptions,
  names: Readonly<Record<string, true>>,
): CheckedOptions {
  const number = (name: string, value: number, least: number, most: number, whole: boolean) =>
    numberOf(observer, name, value, least, most, whole);
  checkNames(observer, options, names);
  const { backoff = {}, isolation = "snapshot" } = options;
  if (isolation !== "snapshot" && isolation !== "serializable") {
    throw new ObserverError(
      `Observer "${observer}": \`isolation\` must be "snapshot" or "serializable", not ${describeValue(isolation)}.`,
    );
  }
  checkIsObject(observer, backoff, "`backoff`");
  checkNames(observer, backoff, backoffNames, "backoff.");
  const initialMs = number("backoff.initialMs", backoff.initialMs ?? 100, 0, 86_400_000, false);
  return {
    attempts: number("attempts", options.attempts ?? 5, 1, maxAttempts, true),
    backoff: Object.freeze({
      initialMs,
      maximumMs: number(
        "backoff.maximumMs",
        backoff.maximumMs ?? Math.max(initialMs, 60_000),
        initialMs,
        86_400_000,
        false,
      ),
    }),
    timeoutMs: number("timeoutMs", options.timeoutMs ?? 60_000, 1, infinity, false),
    concurrency: number("concurrency", options.concurrency ?? infinity, 1, infinity, true),
    isolation,
    priority: number("priority", options.priority ?? 0, -1_000_000, 1_000_000, false),
    version: number("version", options.version ?? 1, 1, highestVersion, true),
  };
}
