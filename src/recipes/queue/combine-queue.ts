import {
  type AnyTable,
  type BatchOptions,
  batchObserver,
  type Codec,
  type Column,
  type Database,
  type Environment,
  InvalidValueError,
  int,
  json,
  type KeyCodec,
  LimitExceededError,
  type Observer,
  PercolatorError,
  type ScanOptions,
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
import { bytesOf, checkTransaction, checkView, columnOf, type View } from "../view.js";

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
   * Has no effect on new updates. Earlier versions of the library divided the updates among so many
   * buckets. Keep the number while updates of theirs may wait, so that `get` finds them. From 1 to
   * 65,536. Default: 64.
   */
  readonly buckets?: number | undefined;
  /**
   * Most updates that one run combines. A run also stops at about 8 MB. From 1 to 100,000. Default:
   * 1,000.
   */
  readonly batch?: number | undefined;
  /**
   * How the queue runs, and retries runs that fail because `combine` or `onChange` throws. Default: as
   * any batch observer, but with 15 attempts, which take some minutes.
   */
  readonly observer?: Pick<BatchOptions, "attempts" | "backoff" | "timeoutMs" | "concurrency" | "priority">;
  /**
   * Supplies the unique id of this process, which names the rows of its updates. Default: the
   * system's.
   */
  readonly environment?: Environment | undefined;
}

/** The options of {@link CombineQueue.backfill}. */
export interface BackfillQueueOptions {
  /** Stops between two transactions when it is aborted. Default: none. */
  readonly signal?: AbortSignal | undefined;
}

/** The bucket of an update consists of the hash of its key, and of the time: see {@link bucketOf}. */
type UpdateKey = readonly [bucket: number, key: string, id: string];
type BucketKey = readonly [bucket: number, turn: number];

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
/** The most buckets that a run looks at. */
const mostBuckets = 1_000;
/** How many updates of each bucket a run reads at once, before it knows which buckets have more. */
const firstUpdates = 16;

/**
 * How long one bucket of a key takes updates, in microseconds of start timestamps: about four seconds. If
 * it were shorter, the runs of two processes would meet more often at one key.
 */
const slotUs = 2 ** 22;
/** After so many slots, 203 days, a key's buckets are used again. */
const slots = 2 ** 22;

/**
 * The bucket of an update. All buckets of a key lie together, so that its updates can be read in one
 * scan. The updates of a bucket are those of four seconds, so a run passes over few updates that
 * others have combined and that are not collected yet. Buckets of earlier versions of the library have
 * numbers below 65,536.
 */
function bucketOf(key: string, startTimestamp: number): number {
  return (hashText(key) >>> 1) * slots + (Math.floor(startTimestamp / slotUs) % slots);
}

/**
 * The turn of the next run of a bucket that has more updates. The engine parks a signal that notifies
 * itself a thousand times in a row, so about one run in ten notifies the bucket's other signal, turn 1.
 */
function turnAfter(startTimestamp: number): number {
  return hashText(String(startTimestamp)) % 10 === 0 ? 1 : 0;
}

/** Takes at most `count` items. The iterator may go on. */
async function upTo<T>(items: AsyncIterator<T>, count: number): Promise<T[]> {
  const taken: T[] = [];
  while (taken.length < count) {
    const next = await items.next();
    if (next.done) break;
    taken.push(next.value);
  }
  return taken;
}

async function* joined<T>(first: readonly T[], rest: AsyncIterable<T>): AsyncGenerator<T, void, undefined> {
  yield* first;
  yield* rest;
}

/** Whether a run writes more than a transaction holds, in this or another copy of the package. */
const isTooLarge = (error: unknown): error is PercolatorError =>
  error instanceof PercolatorError && error.code === "LIMIT_EXCEEDED" && !error.retryable;

/**
 * Thrown if a run writes more than a transaction holds. The error is retryable and the next run
 * combines fewer updates, so the failed run does not count as an attempt.
 */
class LargeRunError extends LimitExceededError {
  override readonly retryable = true;
}

/** Updates that wait for a run. */
interface Waiting<U> {
  readonly row: UpdateKey;
  readonly value: U;
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
   * {@link Run.most} for the next run. A run that wrote too much for a transaction reduces it, and
   * later runs raise it again.
   */
  #most = maxBytes;
  /** Buckets that the last run did not come to. The next run begins with them. */
  #passedOver: ReadonlySet<number> = new Set();
  /** Size of the largest update of the last run, in bytes. */
  #largest = 0;
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
      // Earlier versions of the library wrote `resume`.
      { resume: json<unknown>(), due: signal() },
      { key: tuple(int(), int()) },
    );
    this.values = columnOf(values, "value");
    this.#updates = columnOf(updates, "update");
    this.tables = [values, updates, this.#state];
    this.observer = batchObserver(
      name,
      this.#state.due,
      (tx, changes) =>
        this.#combine(
          tx,
          changes.map(({ row }) => row),
        ),
      {
        ...options.observer,
        attempts: options.observer?.attempts ?? 15,
        batch: Math.min(this.#batch, mostBuckets),
      },
    );
  }

  /**
   * Adds an update to the value of a key. It takes effect when the transaction commits, and
   * conflicts with no other transaction.
   */
  add(tx: Transaction, key: NoInfer<K>, update: NoInfer<U>): void {
    checkTransaction("add", tx);
    const keyAsText = this.#keys.format(key);
    const bucket = bucketOf(keyAsText, tx.startTimestamp);
    tx.set(this.#updates, [bucket, keyAsText, this.#nextId()], update);
    tx.notify(this.#state.due, [bucket, 0]);
  }

  /**
   * Returns the value of a key with all updates that the view sees, combined or not. Costs more
   * than reading {@link values}.
   */
  async get(view: View, key: NoInfer<K>): Promise<V | undefined> {
    checkView("get", view);
    const keyAsText = this.#keys.format(key);
    const first = bucketOf(keyAsText, 0);
    const earlier = hashText(keyAsText) % this.#buckets;
    const [combined, ...updates] = await Promise.all([
      view.get(this.values, key),
      // No bucket comes after those of the largest hash.
      this.#waiting(view, keyAsText, {
        start: [first],
        end: Number.isSafeInteger(first + slots) ? [first + slots] : undefined,
      }),
      this.#waiting(view, keyAsText, { prefix: [earlier, keyAsText] }),
    ]);
    const all = updates.flat();
    return all.length === 0 ? combined : this.#options.combine(combined, all, key);
  }

  /**
   * Makes all updates due that no run has combined yet. Call it if some were added while the observer was
   * not registered, or if it was unregistered, or a parked bucket discarded: nothing else makes those due
   * again. Safe to repeat, also while the queue is in use. If the call is aborted, repeat it.
   */
  async backfill(db: Database, options: BackfillQueueOptions = {}): Promise<void> {
    checkOptions("backfill", options, { signal: "any" });
    const { signal } = options;
    await using snapshot = await db.snapshot({ signal });
    const notify = (buckets: ReadonlySet<number>) =>
      db.transact(
        (tx) => {
          for (const bucket of buckets) tx.notify(this.#state.due, [bucket, 0]);
        },
        { signal },
      );
    let buckets = new Set<number>();
    for await (const { row } of snapshot.scan(this.#updates)) {
      buckets.add(row[0]);
      if (buckets.size < mostBuckets) continue;
      await notify(buckets);
      buckets = new Set();
    }
    if (buckets.size > 0) await notify(buckets);
  }

  async #waiting(view: View, key: string, range: ScanOptions<UpdateKey>): Promise<U[]> {
    const updates: U[] = [];
    for await (const { row, value } of view.scan(this.#updates, range)) {
      if (row[1] === key) updates.push(value);
    }
    return updates;
  }

  /** Returns an id that no process has used, so that no two transactions write the same row. */
  #nextId(): string {
    this.#writer ??= (this.#options.environment ?? systemEnvironment).uniqueId();
    return `${this.#writer}-${(this.#added++).toString(36)}`;
  }

  async #combine(tx: Transaction, due: readonly BucketKey[]): Promise<void> {
    const run: Run = { most: this.#most, updates: 0, bytes: 0 };
    try {
      await this.#combineSome(tx, due, run);
      // Raises the limit again step by step, because the large updates may be gone.
      this.#most = Math.min(run.most * 1.05, maxBytes);
    } catch (error) {
      if (!isTooLarge(error) || run.updates <= 1) throw error;
      this.#most = Math.min(run.bytes, run.most) / 2;
      throw new LargeRunError(error.message, { cause: error });
    }
  }

  async #combineSome(tx: Transaction, due: readonly BucketKey[], run: Run): Promise<void> {
    const buckets: number[] = [];
    for (const [bucket, turn] of due) {
      if (turn === 0) buckets.push(bucket);
      // It combines nothing, so that it cannot fail: it would stay parked after turn 0 has combined all.
      else tx.notify(this.#state.due, [bucket, 0]);
    }
    if (buckets.length === 0) return;
    const { groups, left } = await this.#take(tx, buckets, run.most);
    const changes: CombinedChange<V, K>[] = [];
    for (const group of groups) {
      if (run.updates > 0 && run.bytes >= run.most) {
        for (const [bucket] of group.rows) left.add(bucket);
        continue;
      }
      const change = await this.#combineGroup(tx, group, run);
      if (change !== undefined) changes.push(change);
    }
    if (changes.length > 0) await this.#options.onChange?.(tx, changes);
    const turn = turnAfter(tx.startTimestamp);
    for (const bucket of left) tx.notify(this.#state.due, [bucket, turn]);
  }

  /**
   * Reads updates of the buckets, grouped by key, until they are enough for a run. `left` are the buckets
   * that have more.
   */
  async #take(
    tx: Transaction,
    buckets: readonly number[],
    most: number,
  ): Promise<{ readonly groups: Iterable<Group<U>>; readonly left: Set<number> }> {
    const groups = new Map<string, Group<U>>();
    const left = new Set<number>();
    const passedOver = new Set<number>();
    const isFirst = (bucket: number) => Number(this.#passedOver.has(bucket));
    const inTurn = buckets.toSorted((one, other) => isFirst(other) - isFirst(one));
    let taken = 0;
    let bytes = 0;
    let largest = 0;
    const take = ({ row, value }: Waiting<U>) => {
      const [, key] = row;
      const size = this.#options.update.encode(value).length;
      taken++;
      bytes += cellBytes + key.length + size;
      largest = Math.max(largest, size);
      let group = groups.get(key);
      if (group === undefined) {
        group = { key, updates: [], rows: [] };
        groups.set(key, group);
      }
      group.updates.push(value);
      group.rows.push(row);
    };
    for await (const [bucket, updates] of this.#read(tx, inTurn)) {
      let isBegun = false;
      for await (const update of updates) {
        if (taken >= this.#batch || (taken > 0 && bytes >= most)) {
          left.add(bucket);
          if (!isBegun) passedOver.add(bucket);
          break;
        }
        isBegun = true;
        take(update);
      }
    }
    this.#passedOver = passedOver;
    this.#largest = largest;
    return { groups: groups.values(), left };
  }

  /**
   * Yields buckets with their updates. It reads the first few updates of many buckets at once, since one
   * bucket after another would take a round trip each. If updates are large, those are fewer buckets.
   */
  async *#read(
    tx: Transaction,
    buckets: readonly number[],
  ): AsyncGenerator<readonly [number, AsyncIterable<Waiting<U>>]> {
    const atOnce = Math.ceil(maxBytes / (firstUpdates * (cellBytes + this.#largest)));
    for (let from = 0; from < buckets.length; from += atOnce) {
      const some = buckets.slice(from, from + atOnce);
      const scans = some.map((bucket) => tx.scan(this.#updates, { prefix: [bucket] }));
      const firsts = await Promise.all(scans.map((scan) => upTo(scan, firstUpdates)));
      for (const [index, bucket] of some.entries()) yield [bucket, joined(firsts[index]!, scans[index]!)];
    }
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
  observer: "any",
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
      `${Number.MAX_SAFE_INTEGER}. No update is lost. To continue, add an update of the other sign to the same key, and retry the change if it is parked.`,
  );
}
