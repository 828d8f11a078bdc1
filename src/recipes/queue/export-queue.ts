import {
  type AnyTable,
  type Codec,
  type Column,
  type Environment,
  type Family,
  family,
  InvalidValueError,
  int,
  type KeyCodec,
  LimitExceededError,
  type Observer,
  type ObserverOptions,
  observer,
  PercolatorError,
  type Signal,
  signal,
  systemEnvironment,
  type Transaction,
  table,
  text,
  tuple,
} from "../../index.js";
import { callsInTurn } from "../in-turn.js";
import { type KeyText, keyText } from "../key-text.js";
import { checkOptions, wholeOption } from "../options.js";
import { quiet } from "../quiet.js";
import { takeValue } from "../taken-value.js";
import { bytesOf, checkTransaction, checkView, columnOf, familyOf, type View } from "../view.js";
import { Delivery, enoughBytes, type Send } from "./delivery.js";
import { DeliverySizes } from "./delivery-sizes.js";
import { nextTurn } from "./turns.js";

/** One entry that an export queue delivers. */
export interface ExportEntry<V, K = string> {
  readonly key: K;
  /**
   * Identifies the entry among those of its key, and is higher than the sequences of all entries
   * before it, in the order of their transactions. Sequences are safe integers with gaps. No sequence
   * is used twice, also not after an older backup was restored.
   */
  readonly sequence: number;
  readonly value: V;
}

/** Delivers entries to the outside system: see {@link ExportOptions.deliver}. */
export type Deliver<V, K = string> = Send<ExportEntry<V, K>>;

/** The options of {@link exportQueue}. */
export interface ExportOptions<V, K = string> {
  /** Codec of the keys. The queue keeps the entries of one key in order. Default: strings. */
  readonly key?: KeyCodec<K> | undefined;
  /** Codec of the values to export. */
  readonly value: Codec<V>;
  /**
   * Delivers entries to the outside system, and resolves when they are safe there. One call may
   * have the entries of several keys. The entries of each key come in order, and none is left
   * out. Each process makes one call at a time. Once the values of a call have 8 MiB, it takes no
   * further entries.
   *
   * This process or another one may deliver an entry again. Earlier entries of its key can then
   * follow later ones. The receiver must therefore keep the highest sequence of each key, and skip
   * entries that are not above it. If the promise rejects, the queue retries each key alone, with
   * backoff: first its first entry, and after each success twice as many. It parks the key after as
   * many failures in a row as it has attempts.
   */
  readonly deliver: Deliver<V, K>;
  /** Most entries of one key in a call of `deliver`. From 1 to 10,000. Default: 100. */
  readonly batch?: number | undefined;
  /** Most entries in one call of `deliver`, over all keys. From 1 to 100,000. Default: 1,000. */
  readonly together?: number | undefined;
  /**
   * Most entries of a key that may wait. If so many wait, `add` refuses further entries. From 1 to
   * 1,000,000. Default: 10,000.
   */
  readonly waiting?: number | undefined;
  /**
   * How the queue retries failed deliveries: attempts, backoff, and time limit. Default: those of
   * any observer.
   */
  readonly observer?: Pick<
    ObserverOptions,
    "attempts" | "backoff" | "timeoutMs" | "concurrency" | "priority"
  >;
  /** Supplies the clock of this process, which new sequences follow. Default: the system's. */
  readonly environment?: Environment | undefined;
}

/**
 * Thrown if too many entries of a key wait for delivery. Nothing was written. The error is
 * retryable: `db.transact` runs the transaction again with backoff. This gives the queue some
 * seconds to deliver entries.
 */
export class ExportQueueFullError extends LimitExceededError {
  override readonly retryable = true;
  readonly queue: string;
  readonly key: string;

  constructor(queue: string, key: string, waiting: number) {
    super(
      `Export queue "${queue}", key ${JSON.stringify(key)}: ${waiting} entries already wait, the limit. Check whether its deliveries ` +
        "fail (`percolator parked`), or raise `waiting`.",
    );
    this.queue = queue;
    this.key = key;
  }
}

type DueKey = readonly [key: string, turn: number];

/**
 * A queue whose entries are delivered to an outside system: in order for each key, and at least
 * once. Transactions add the entries. {@link exportQueue} creates it.
 */
export class ExportQueue<V, K = string> {
  readonly name: string;
  /** Delivers the entries. List it in `observers` of `open`. */
  readonly observer: Observer;
  /** The tables of the queue. List them in `tables` of `open`. */
  readonly tables: readonly AnyTable[];
  readonly #keys: KeyText<K>;
  readonly #environment: Environment;
  readonly #sizes: DeliverySizes;
  readonly #maxWaiting: number;
  readonly #entries: Family<V, K>;
  readonly #bytes: Family<Uint8Array, K>;
  /** How many entries were added, and how many of them were delivered or skipped. */
  readonly #added: Column<number, K>;
  readonly #delivered: Column<number, K>;
  /** The sequence of the newest entry, and of the newest one that was delivered or skipped. */
  readonly #lastAdded: Column<number, K>;
  readonly #lastDelivered: Column<number, K>;
  readonly #due: Signal<DueKey>;
  readonly #delivery: Delivery<ExportEntry<V, K>>;
  readonly #inTurn = callsInTurn();

  /** @internal */
  constructor(name: string, options: ExportOptions<V, K>) {
    this.name = name;
    this.#keys = keyText(options.key);
    this.#environment = options.environment ?? systemEnvironment;
    this.#maxWaiting = wholeOption("waiting", options.waiting ?? 10_000, 1, 1_000_000);
    const batch = wholeOption("batch", options.batch ?? 100, 1, 10_000);
    const together = wholeOption("together", options.together ?? 1_000, 1, 100_000);
    this.#sizes = new DeliverySizes(Math.min(batch, together));
    this.#delivery = new Delivery(options.deliver, together, this.#environment);
    const columns = {
      entries: family(options.value),
      added: int(),
      delivered: int(),
      lastAdded: int(),
      lastDelivered: int(),
    };
    const queue = table(name, columns, { key: options.key });
    const due = table(`${name}_due`, { due: signal() }, { key: tuple(text(), int()) });
    this.tables = [queue, due];
    this.#entries = familyOf(queue, "entries");
    this.#bytes = bytesOf(this.#entries);
    this.#added = columnOf(queue, "added");
    this.#delivered = columnOf(queue, "delivered");
    this.#lastAdded = columnOf(queue, "lastAdded");
    this.#lastDelivered = columnOf(queue, "lastDelivered");
    this.#due = due.due;
    this.observer = observer(
      name,
      this.#due,
      (tx, change) => this.#deliver(tx, change.row, change.signal),
      options.observer,
    );
  }

  /**
   * Adds an entry, which the queue delivers after the transaction commits. Resolves to the entry's
   * sequence. Transactions that add to the same key conflict, which gives the entries their order.
   *
   * @throws ExportQueueFullError if too many entries of the key wait.
   */
  add(tx: Transaction, key: NoInfer<K>, value: NoInfer<V>): Promise<number> {
    return quiet(this.#addInTurn(tx, key, value));
  }

  async #addInTurn(tx: Transaction, key: K, value: V): Promise<number> {
    checkTransaction("add", tx);
    const keyAsText = this.#keys.format(key);
    const bytes = takeValue(tx, this.#entries.at(""), key, value);
    return this.#inTurn(tx, () => this.#add(tx, keyAsText, bytes));
  }

  async #add(tx: Transaction, keyAsText: string, bytes: Uint8Array): Promise<number> {
    const key = this.#keys.parse(keyAsText);
    // Without `lastAdded`, the entries were numbered 1, 2, 3, and their count is the last sequence.
    const [added = 0, delivered = 0, last = added] = await Promise.all([
      tx.get(this.#added, key),
      tx.get(this.#delivered, key),
      tx.get(this.#lastAdded, key),
    ]);
    if (added - delivered >= this.#maxWaiting) {
      throw new ExportQueueFullError(this.name, keyAsText, added - delivered);
    }
    // A count would go back when an older backup is restored, and receivers would ignore the new
    // entries. Timestamps and the clock go on. The first transaction after a restore without
    // `percolator restore` may still start at the timestamp of the backup, so the clock counts too.
    const now = Math.floor(this.#environment.now() * 1_000);
    const sequence = Math.max(last + 1, tx.startTimestamp, now);
    tx.set(this.#bytes.at(qualifierOf(sequence)), key, bytes);
    tx.set(this.#added, key, added + 1);
    tx.set(this.#lastAdded, key, sequence);
    tx.notify(this.#due, [keyAsText, 0]);
    return sequence;
  }

  /** Returns how many entries of a key wait for delivery. */
  async waiting(view: View, key: NoInfer<K>): Promise<number> {
    checkView("waiting", view);
    const [added = 0, delivered = 0] = await Promise.all([
      view.get(this.#added, key),
      view.get(this.#delivered, key),
    ]);
    return added - delivered;
  }

  /** Yields the entries of a key that wait for delivery, in order. */
  async *entries(
    view: View,
    key: NoInfer<K>,
    limit = Number.POSITIVE_INFINITY,
  ): AsyncGenerator<ExportEntry<V, K>> {
    checkView("entries", view);
    yield* this.#waitingIn(this.#entries, view, key, limit);
  }

  /** Yields the values of a family, or their bytes. */
  async *#waitingIn<T>(
    family: Family<T, K>,
    view: View,
    key: K,
    limit = Number.POSITIVE_INFINITY,
  ): AsyncGenerator<ExportEntry<T, K>> {
    const delivered = (await view.get(this.#lastDelivered, key)) ?? (await view.get(this.#delivered, key));
    const start = qualifierOf((delivered ?? 0) + 1);
    const range = Number.isFinite(limit) ? { start, limit } : { start };
    for await (const { qualifier, value } of view.entries(family, key, range)) {
      yield { key, sequence: Number(qualifier), value };
    }
  }

  /**
   * Drops the entries of a key up to a sequence, as if they had been delivered. Use it for an entry
   * that the receiver will never accept. The queue then delivers what is behind it, also if the key
   * was parked. Resolves to the number of entries dropped.
   */
  skip(tx: Transaction, key: NoInfer<K>, sequence: number): Promise<number> {
    return quiet(this.#skipInTurn(tx, key, sequence));
  }

  async #skipInTurn(tx: Transaction, key: K, sequence: number): Promise<number> {
    checkTransaction("skip", tx);
    wholeOption("sequence", sequence, 0, Number.MAX_SAFE_INTEGER);
    return this.#inTurn(tx, () => this.#skip(tx, key, sequence));
  }

  async #skip(tx: Transaction, key: K, sequence: number): Promise<number> {
    const skipped: { readonly sequence: number }[] = [];
    // Their bytes, because an entry that cannot be read can be skipped too.
    for await (const entry of this.#waitingIn(this.#bytes, tx, key)) {
      if (entry.sequence > sequence) break;
      skipped.push({ sequence: entry.sequence });
    }
    await this.#remove(tx, key, skipped);
    if (skipped.length > 0) tx.notify(this.#due, [this.#keys.format(key), 0]);
    return skipped.length;
  }

  async #deliver(tx: Transaction, [keyAsText, turn]: DueKey, signal: AbortSignal): Promise<void> {
    // Turn 1 delivers nothing, so that it cannot fail: it would stay parked after turn 0 has delivered all.
    if (turn === 1) return tx.notify(this.#due, [keyAsText, 0]);
    const key = this.#keys.parse(keyAsText);
    const size = this.#sizes.of(keyAsText);
    const entries: ExportEntry<Uint8Array, K>[] = [];
    let bytes = 0;
    for await (const entry of this.#waitingIn(this.#bytes, tx, key, size)) {
      entries.push(entry);
      bytes += entry.value.length;
      if (bytes >= enoughBytes) break;
    }
    if (entries.length === 0) return;
    const copies = () => entries.map((entry) => this.#decode(keyAsText, entry));
    const parcel = { count: entries.length, bytes, isAlone: this.#sizes.isAlone(keyAsText) };
    try {
      await this.#delivery.deliver(parcel, copies, signal);
    } catch (error) {
      this.#sizes.failed(keyAsText, signal.aborted);
      throw error;
    }
    this.#sizes.succeeded(keyAsText);
    const delivered = await this.#remove(tx, key, entries);
    if (delivered === (await tx.get(this.#added, key))) return;
    // After fewer entries than `size`, because they were large, the quotient may not be a new one.
    const next = entries.length < size ? 1 : nextTurn(turn, Math.floor(delivered / size));
    tx.notify(this.#due, [keyAsText, next]);
  }

  /** The error for a value that cannot be read names the entry, so that it can be skipped. */
  #decode(keyAsText: string, { sequence, value }: ExportEntry<Uint8Array, K>): ExportEntry<V, K> {
    const key = this.#keys.parse(keyAsText);
    try {
      return { key, sequence, value: this.#entries.codec.decode(value) };
    } catch (error) {
      if (!(error instanceof PercolatorError && error.code === "INVALID_VALUE")) throw error;
      throw new InvalidValueError(
        `Export queue "${this.name}", key ${JSON.stringify(keyAsText)}: entry ${sequence} cannot be read: ${error.message}. ` +
          "Correct the codec, or drop the entry with `skip`.",
        { cause: error },
      );
    }
  }

  /** Deletes the first entries of a key. Resolves to the number of entries that were ever delivered. */
  async #remove(tx: Transaction, key: K, entries: readonly { readonly sequence: number }[]): Promise<number> {
    const delivered = ((await tx.get(this.#delivered, key)) ?? 0) + entries.length;
    const last = entries.at(-1);
    if (last === undefined) return delivered;
    for (const { sequence } of entries) tx.delete(this.#entries.at(qualifierOf(sequence)), key);
    tx.set(this.#delivered, key, delivered);
    tx.set(this.#lastDelivered, key, last.sequence);
    return delivered;
  }
}

/** Returns a qualifier that sorts as the sequence does. */
function qualifierOf(sequence: number): string {
  return String(sequence).padStart(16, "0");
}

/**
 * Creates a queue that delivers entries to an outside system: at least once, and in order for each
 * key. Each entry has a sequence, so that the receiver can skip those that it already has.
 *
 * Declares the tables `NAME` and `NAME_due`, and the observer `NAME`.
 *
 * @example
 * const mails = exportQueue("mails", { value: text(), deliver: async (entries) => send(entries) });
 * await using db = await open("./data", { tables: mails.tables, observers: [mails.observer] });
 * await db.transact((tx) => mails.add(tx, "ann@example.org", "Welcome"));
 */
export function exportQueue<V, K = string>(name: string, options: ExportOptions<V, K>): ExportQueue<V, K> {
  checkOptions("exportQueue", options, {
    key: "any",
    value: "any",
    deliver: "function",
    batch: "any",
    together: "any",
    waiting: "any",
    observer: "any",
    environment: "any",
  });
  return new ExportQueue(name, options);
}
