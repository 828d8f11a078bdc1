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

/** A value that a run of a combine queue changed. */
export interface CombinedChange<V, K = string> {
  readonly key: K;
  /** Before the run; `undefined` where there was none. */
  readonly previous: V | undefined;
  /** After it; `undefined` where it was deleted. */
  readonly value: V | undefined;
}

/** What {@link combineQueue} is told of a queue. */
export interface CombineOptions<V, U, K = string> {
  /** The keys of the values. Default: strings. */
  readonly key?: KeyCodec<K> | undefined;
  /** What is kept of a key. */
  readonly value: Codec<V>;
  /** What is added to it. */
  readonly update: Codec<U>;
  /**
   * The new value of a key, of the one it has and some updates; `undefined` deletes it. Updates come in no order that means
   * anything, and in groups of any size: the result must not depend on either. What it is given is its own: it may change and answer it.
   * Must not throw.
   */
  readonly combine: (value: V | undefined, updates: readonly U[], key: K) => V | undefined;
  /** Called in the transaction that combines, with every value that it changes. Default: none. */
  readonly onChange?: ((tx: Transaction, changes: readonly CombinedChange<V, K>[]) => unknown) | undefined;
  /** How many runs may combine at the same time. From 1 to 65,536; default: 64. Change it when the queue is empty. */
  readonly buckets?: number | undefined;
  /** The most updates that one run combines, of some 8 MB at the most. From 1 to 100,000; default: 1,000. */
  readonly batch?: number | undefined;
  /** Names what this process adds. Default: the system's. */
  readonly environment?: Environment | undefined;
}

type UpdateKey = readonly [bucket: number, key: string, id: string];
type BucketKey = readonly [bucket: number, turn: number];

/** Where the next run of a bucket begins, and how many runs before it have left work. */
interface Resumption {
  readonly from?: string;
  readonly runs: number;
}

/** What a run has done so far. */
interface Run {
  /** About how much it may read, and how much it may write. */
  readonly most: number;
  updates: number;
  /** About how much it writes. */
  bytes: number;
}

/** The most of {@link Run.most}. */
const maxBytes = 8 * 1024 * 1024;
/** About what a cell takes beside its key and value. */
const cellBytes = 150;

/** A run wrote more than a transaction holds. The next takes less: so it is no failure that counts. */
class LargeRunError extends LimitExceededError {
  override readonly retryable = true;
}

/** Updates of one key, and the rows that they stand in. */
interface Group<U> {
  readonly key: string;
  readonly updates: U[];
  readonly rows: UpdateKey[];
}

/** Values that are changed by adding updates to them, without contention. Made by {@link combineQueue}. */
export class CombineQueue<V, U, K = string> {
  readonly name: string;
  /** The combined values: an ordinary column, for reading, scanning and other observers. To be written by the queue only. */
  readonly values: Column<V, K>;
  /** Combines. Goes into `observers` of `open`. */
  readonly observer: Observer;
  /** The queue's tables. */
  readonly tables: readonly AnyTable[];
  readonly #options: CombineOptions<V, U, K>;
  readonly #keys: KeyText<K>;
  readonly #buckets: number;
  readonly #batch: number;
  readonly #updates: Column<U, UpdateKey>;
  readonly #state;
  /** By bucket, where runs may take less than {@link maxBytes}, because a transaction did not hold what they wrote. */
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

  /** Adds an update to a key's value, with the transaction's commit. Conflicts with nothing. */
  add(tx: Transaction, key: NoInfer<K>, update: NoInfer<U>): void {
    const keyAsText = this.#keys.format(key);
    const bucket = hashText(keyAsText) % this.#buckets;
    tx.set(this.#updates, [bucket, keyAsText, this.#nextId()], update);
    tx.notify(this.#state.due, [bucket, 0]);
  }

  /** A key's value with all updates that the view sees, combined or not. Costs more than reading {@link values}. */
  async get(view: View, key: NoInfer<K>): Promise<V | undefined> {
    const keyAsText = this.#keys.format(key);
    const bucket = hashText(keyAsText) % this.#buckets;
    const updates: U[] = [];
    const scan = view.scan(this.#updates, { prefix: [bucket, keyAsText] });
    for await (const { value } of scan) updates.push(value);
    const combined = await view.get(this.values, key);
    return updates.length === 0 ? combined : this.#options.combine(combined, updates, key);
  }

  /** Differs from every other that any process draws, so that no two transactions write the same row. */
  #nextId(): string {
    this.#writer ??= (this.#options.environment ?? systemEnvironment).uniqueId();
    return `${this.#writer}-${(this.#added++).toString(36)}`;
  }

  async #combineBucket(tx: Transaction, key: BucketKey): Promise<void> {
    const [bucket] = key;
    const run: Run = { most: this.#most.get(bucket) ?? maxBytes, updates: 0, bytes: 0 };
    try {
      await this.#combineSome(tx, key, run);
      // What was too large may be gone.
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
   * The bucket's next updates by key, and where to go on if more are left: behind the last key, whose further updates wait until the
   * others had their turn.
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
    // `combine` may change what it is given.
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
 * Values to which many transactions add at the same time. An update is a row of its own, so that no two conflict; an observer
 * takes each bucket of keys in turn and combines its updates into the values, each update exactly once.
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

/** What {@link combiningCounter} takes. */
export type CounterOptions<K = string> = Omit<
  CombineOptions<number, number, K>,
  "value" | "update" | "combine"
>;

/**
 * Counters that any number of transactions add to at the same time, up or down: whole numbers, 0 where there is none. A
 * counter that comes to 0 is deleted. Sums are exact; one beyond the safe integers fails its run with an `InvalidValueError` and loses
 * no update.
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

/** Exact, also if it is beyond what a number can hold on the way. */
function sumOf(name: string, key: unknown, numbers: readonly number[]): number {
  let sum = 0;
  let beyond = 0n;
  for (const each of numbers) {
    // Both are safe integers, so that their sum is exact if it is one.
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
    `Counter "${name}", key ${JSON.stringify(key)}: its updates come to ${total}, and a counter goes from ${Number.MIN_SAFE_INTEGER} to ` +
      `${Number.MAX_SAFE_INTEGER}. No update is lost: add one of the other sign to the same key, and the counter goes on.`,
  );
}
