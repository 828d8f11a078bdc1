import {
  type AnyTable,
  type Codec,
  type Column,
  type Environment,
  InvalidValueError,
  int,
  json,
  type KeyCodec,
  LimitExceededError,
  type Observer,
  observer,
  signal,
  systemEnvironment,
  type Transaction,
  table,
  text,
  tuple,
} from "../../index.js";
import { hashText } from "../hash.js";
import { type KeyText, keyText } from "../key-text.js";
import { checkOptions, type OptionKind, wholeOption } from "../options.js";
import { takeValue } from "../taken-value.js";
import { bytesOf, columnOf, type View } from "../view.js";
import { nextTurn } from "./turns.js";

/** A value that a run of a combine queue changed, as `onChange` receives it. */
export interface CombinedChange<V, K = string> {
  readonly key: K;
  /** The value before the run, or `undefined` if there was none. */
  readonly previous: V | undefined;
  /** The value after the run, or `undefined` if the run deleted it. */
  readonly value: V | undefined;
}

/** The options of {@link combineQueue}. */
export interface CombineOptions<V, U, K = string> {
  /** Codec of the keys. Default: strings. */
  readonly key?: KeyCodec<K> | undefined;
  /** Codec of the combined values. */
  readonly value: Codec<V>;
  /** Codec of the updates. */
  readonly update: Codec<U>;
  /**
   * Returns the new value of a key from its current value and some updates; `undefined` deletes the
   * value. The result must not depend on the order of the updates, nor on how they are grouped into
   * calls. It may change its arguments and return one of them. It must not throw.
   */
  readonly combine: (value: V | undefined, updates: readonly U[], key: K) => V | undefined;
  /** Called with every value that a run changes, in the run's transaction. Default: none. */
  readonly onChange?: ((tx: Transaction, changes: readonly CombinedChange<V, K>[]) => unknown) | undefined;
  /**
   * Number of buckets, which is the most runs that combine at the same time. From 1 to 65,536.
   * Default: 64. Change it only while the queue is empty.
   */
  readonly buckets?: number | undefined;
  /**
   * Most updates that one run combines. A run also stops at about 8 MB. From 1 to 100,000. Default:
   * 1,000.
   */
  readonly batch?: number | undefined;
  /**
   * Supplies the unique id of this process, which names the rows of its updates. Default: the
   * system's.
   */
  readonly environment?: Environment | undefined;
}

type UpdateKey = readonly [bucket: number, key: string, id: string];
type BucketKey = readonly [bucket: number, turn: number];

/**
 * The key at which the next run of a bucket begins, and how many runs in a row have left updates
 * for the next run.
 */
interface Resumption {
  readonly from?: string;
  readonly runs: number;
}

/** The progress of a run so far. */
interface Run {
  /** Approximate limit for the bytes that the run reads, and for the bytes that it writes. */
  readonly most: number;
  updates: number;
  /** Approximate number of bytes that the run has written. */
  bytes: number;
}

/** Largest value of {@link Run.most}. */
const maxBytes = 8 * 1024 * 1024;
/** Approximate size of a cell, in bytes, without its key and value. */
const cellBytes = 150;

/**
 * Thrown if a run writes more than a transaction holds. The error is retryable and the next run
 * combines fewer updates, so the failed run does not count as an attempt.
 */
class LargeRunError extends LimitExceededError {
  override readonly retryable = true;
}

/** Updates of one key, and the rows that hold them. */
interface Group<U> {
  readonly key: string;
  readonly updates: U[];
  readonly rows: UpdateKey[];
}

/**
 * Values that many transactions change without conflicts, by adding updates. {@link combineQueue}
 * creates it.
 */
export class CombineQueue<V, U, K = string> {
  readonly name: string;
  /**
   * The combined values: an ordinary column to read, scan and observe. Only the queue may write it.
   */
  readonly values: Column<V, K>;
  /** Combines the updates. List it in `observers` of `open`. */
  readonly observer: Observer;
  /** The tables of the queue. List them in `tables` of `open`. */
  readonly tables: readonly AnyTable[];
  readonly #options: CombineOptions<V, U, K>;
  readonly #keys: KeyText<K>;
  readonly #buckets: number;
  readonly #batch: number;
  readonly #updates: Column<U, UpdateKey>;
  readonly #state;
  /**
   * The reduced {@link Run.most} for the next run of a bucket. A bucket has an entry after a run
   * that wrote too much for a transaction, until later runs have raised the limit to its largest
   * value.
   */
  readonly #most = new Map<number, number>();
  #writer: string | undefined;
  #added = 0;

  /** @internal */
  constructor(name: string, options: CombineOptions<V, U, K>) {
    this.name = name;
    this.#options = options;
    this.#keys = keyText(options.key);
    this.#buckets = wholeOption("buckets", options.buckets ?? 64, 1, 65_536);
    this.#batch = wholeOption("batch", options.batch ?? 1_000, 1, 100_000);
    const values = table(name, { value: options.value }, { key: options.key });
    const updates = table(
      `${name}_updates`,
      { update: options.update },
      { key: tuple(int(), text(), text()) },
    );
    this.#state = table(
      `${name}_buckets`,
      { resume: json<Resumption>(), due: signal() },
      { key: tuple(int(), int()) },
    );
    this.values = columnOf(values, "value");
    this.#updates = columnOf(updates, "update");
    this.tables = [values, updates, this.#state];
    this.observer = observer(name, this.#state.due, (tx, { row }) => this.#combineBucket(tx, row));
  }

  /**
   * Adds an update to the value of a key. It takes effect when the transaction commits, and
   * conflicts with no other transaction.
   */
  add(tx: Transaction, key: NoInfer<K>, update: NoInfer<U>): void {
    const keyAsText = this.#keys.format(key);
    const bucket = hashText(keyAsText) % this.#buckets;
    tx.set(this.#updates, [bucket, keyAsText, this.#nextId()], update);
    tx.notify(this.#state.due, [bucket, 0]);
  }

  /**
   * Returns the value of a key with all updates that the view sees, combined or not. Costs more
   * than reading {@link values}.
   */
  async get(view: View, key: NoInfer<K>): Promise<V | undefined> {
    const keyAsText = this.#keys.format(key);
    const bucket = hashText(keyAsText) % this.#buckets;
    const updates: U[] = [];
    const scan = view.scan(this.#updates, { prefix: [bucket, keyAsText] });
    for await (const { value } of scan) updates.push(value);
    const combined = await view.get(this.values, key);
    return updates.length === 0 ? combined : this.#options.combine(combined, updates, key);
  }

  /** Returns an id that no process has used, so that no two transactions write the same row. */
  #nextId(): string {
    this.#writer ??= (this.#options.environment ?? systemEnvironment).uniqueId();
    return `${this.#writer}-${(this.#added++).toString(36)}`;
  }

  async #combineBucket(tx: Transaction, key: BucketKey): Promise<void> {
    const [bucket] = key;
    const run: Run = { most: this.#most.get(bucket) ?? maxBytes, updates: 0, bytes: 0 };
    try {
      await this.#combineSome(tx, key, run);
      // Raises the limit again step by step, because the large updates may be gone.
      if (run.most * 1.05 < maxBytes) this.#most.set(bucket, run.most * 1.05);
      else this.#most.delete(bucket);
    } catch (error) {
      if (!(error instanceof LimitExceededError) || error.retryable || run.updates <= 1) throw error;
      this.#most.set(bucket, Math.min(run.bytes, run.most) / 2);
      throw new LargeRunError(error.message, { cause: error });
    }
  }

  async #combineSome(tx: Transaction, [bucket, turn]: BucketKey, run: Run): Promise<void> {
    const resumption = await tx.get(this.#state.resume, [bucket, 0]);
    const taken = await this.#take(tx, bucket, resumption?.from, run.most);
    let { from } = taken;
    const changes: CombinedChange<V, K>[] = [];
    for (const group of taken.groups) {
      if (run.updates > 0 && run.bytes >= run.most) {
        from = group.key;
        break;
      }
      const change = await this.#combineGroup(tx, group, run);
      if (change !== undefined) changes.push(change);
    }
    if (changes.length > 0) await this.#options.onChange?.(tx, changes);
    const runs = (resumption?.runs ?? 0) + 1;
    if (from !== undefined || resumption?.from !== undefined) {
      tx.set(this.#state.resume, [bucket, 0], from === undefined ? { runs } : { from, runs });
      tx.notify(this.#state.due, [bucket, nextTurn(turn, runs)]);
    } else if (resumption !== undefined) tx.delete(this.#state.resume, [bucket, 0]);
  }

  /**
   * Reads the bucket's next updates, grouped by key. If updates are left, `from` is the first
   * possible key after the last one read. The remaining updates of that last key wait until runs
   * have combined the updates of all other keys.
   */
  async #take(
    tx: Transaction,
    bucket: number,
    start: string | undefined,
    most: number,
  ): Promise<{ readonly groups: readonly Group<U>[]; readonly from: string | undefined }> {
    const groups: Group<U>[] = [];
    const range = { prefix: [bucket] as const, limit: this.#batch + 1 };
    const scan = tx.scan(
      this.#updates,
      start === undefined ? range : { ...range, start: [bucket, start, ""] },
    );
    let taken = 0;
    let bytes = 0;
    for await (const { row, value } of scan) {
      const [, key] = row;
      let group = groups.at(-1);
      if (taken === this.#batch || (taken > 0 && bytes >= most)) {
        return { groups, from: `${group!.key}\0` };
      }
      taken++;
      bytes += cellBytes + key.length + this.#options.update.encode(value).length;
      if (group?.key !== key) {
        group = { key, updates: [], rows: [] };
        groups.push(group);
      }
      group.updates.push(value);
      group.rows.push(row);
    }
    return { groups, from: undefined };
  }

  async #combineGroup(tx: Transaction, group: Group<U>, run: Run): Promise<CombinedChange<V, K> | undefined> {
    const codec = this.#options.value;
    const key = this.#keys.parse(group.key);
    const previous = await tx.get(this.values, key);
    // Encoded before the call, because `combine` may change its argument.
    const before = previous === undefined ? undefined : codec.encode(previous);
    const value = this.#options.combine(previous, group.updates, this.#keys.parse(group.key));
    run.updates += group.rows.length;
    run.bytes += group.rows.length * (cellBytes + group.key.length);
    for (const row of group.rows) tx.delete(this.#updates, row);
    if (value === undefined && before === undefined) return undefined;
    if (value === undefined) tx.delete(this.values, key);
    else {
      const after = takeValue(tx, this.values, key, value);
      if (before !== undefined && Buffer.compare(before, after) === 0) return undefined;
      tx.set(bytesOf(this.values), key, after);
      run.bytes += cellBytes + group.key.length + after.length;
    }
    return { key, previous: before && codec.decode(before), value };
  }
}

/**
 * Creates a queue of updates to values, for values that many transactions change at the same time.
 * Each update is a row of its own, so no two updates conflict. An observer combines each bucket's
 * updates into the values, each update exactly once.
 *
 * Declares the tables `NAME`, `NAME_updates` and `NAME_buckets`, and the observer `NAME`.
 *
 * @example
 * const longest = combineQueue("longest", {
 *   value: int(),
 *   update: int(),
 *   combine: (value = 0, updates) => updates.reduce((a, b) => Math.max(a, b), value),
 * });
 * await using db = await open("./data", { tables: longest.tables, observers: [longest.observer] });
 * await db.transact((tx) => longest.add(tx, "word", 4));
 */
export function combineQueue<V, U, K = string>(
  name: string,
  options: CombineOptions<V, U, K>,
): CombineQueue<V, U, K> {
  checkOptions("combineQueue", options, {
    ...counterOptions,
    value: "any",
    update: "any",
    combine: "function",
  });
  return new CombineQueue(name, options);
}

const counterOptions: Readonly<Record<keyof CounterOptions, OptionKind>> = {
  key: "any",
  onChange: "function if given",
  buckets: "any",
  batch: "any",
  environment: "any",
};

/** The options of {@link combiningCounter}. */
export type CounterOptions<K = string> = Omit<
  CombineOptions<number, number, K>,
  "value" | "update" | "combine"
>;

/**
 * Creates counters that any number of transactions change at the same time, up or down. Counts are
 * whole numbers, and a missing count is 0. A counter that reaches 0 is deleted. Sums are exact. If
 * a sum leaves the safe integers, the run fails with an `InvalidValueError` and loses no update.
 *
 * @example
 * const hits = combiningCounter("hits");
 * await using db = await open("./data", { tables: hits.tables, observers: [hits.observer] });
 * await db.transact((tx) => hits.add(tx, "/index.html", 1));
 */
export function combiningCounter<K = string>(
  name: string,
  options: CounterOptions<K> = {},
): CombineQueue<number, number, K> {
  checkOptions("combiningCounter", options, counterOptions);
  const combine = (value = 0, updates: readonly number[], key: K) =>
    sumOf(name, key, [value, ...updates]) || undefined;
  return combineQueue(name, { ...options, value: int(), update: int(), combine });
}

/** Returns the exact sum, even if a partial sum leaves the safe integers. */
function sumOf(name: string, key: unknown, numbers: readonly number[]): number {
  let sum = 0;
  let beyond = 0n;
  for (const each of numbers) {
    // Both are safe integers, so the sum is exact if it is a safe integer too.
    const next = sum + each;
    if (Number.isSafeInteger(next)) sum = next;
    else beyond += BigInt(each);
  }
  if (beyond === 0n) return sum;
  const total = BigInt(sum) + beyond;
  if (total >= BigInt(Number.MIN_SAFE_INTEGER) && total <= BigInt(Number.MAX_SAFE_INTEGER)) {
    return Number(total);
  }
  throw new InvalidValueError(
    `Counter "${name}", key ${JSON.stringify(key)}: its updates add up to ${total}, but a counter goes only from ${Number.MIN_SAFE_INTEGER} to ` +
      `${Number.MAX_SAFE_INTEGER}. No update is lost. To continue, add an update of the other sign to the same key.`,
  );
}
