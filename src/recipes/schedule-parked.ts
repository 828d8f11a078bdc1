import {
  type AnyTable,
  type Codec,
  type Column,
  json,
  type KeyCodec,
  type Transaction,
  table,
} from "../index.js";
import { columnOf, type View } from "./view.js";

/** What was scheduled, and was given up after its last attempt. */
export interface ParkedScheduledChange<V, K = string> {
  readonly key: K;
  readonly value: V;
  /** When it was due at first or after it was last put off, in milliseconds since 1970. */
  readonly dueAt: number;
  readonly attempts: number;
  /** In milliseconds since 1970. */
  readonly parkedAt: number;
  /** The last failure, in words. */
  readonly error: string;
}

type Circumstances = Pick<ParkedScheduledChange<never>, "dueAt" | "attempts" | "parkedAt" | "error">;

const longestError = 2_000;

/** The changes of one schedule that were given up. */
export class ParkedChanges<V, K> {
  readonly table: AnyTable;
  readonly #values: Column<V, K>;
  readonly #circumstances: Column<Circumstances, K>;

  constructor(name: string, value: Codec<V>, key: KeyCodec<K> | undefined) {
    const parked = table(`${name}_parked`, { value, parked: json<Circumstances>() }, { key });
    this.table = parked;
    this.#values = columnOf(parked, "value");
    this.#circumstances = columnOf(parked, "parked");
  }

  add(tx: Transaction, { key, value, ...rest }: ParkedScheduledChange<V, K>): void {
    tx.set(this.#values, key, value);
    tx.set(this.#circumstances, key, { ...rest, error: rest.error.slice(0, longestError) });
  }

  /** Takes a change away, and answers what it was to do; undefined where it is not parked. */
  async take(tx: Transaction, key: K): Promise<{ readonly value: V } | undefined> {
    const [circumstances, value] = await Promise.all([
      tx.get(this.#circumstances, key),
      tx.get(this.#values, key),
    ]);
    if (circumstances === undefined) return undefined;
    tx.delete(this.#circumstances, key);
    tx.delete(this.#values, key);
    return { value: value as V };
  }

  async *list(view: View): AsyncGenerator<ParkedScheduledChange<V, K>, void, undefined> {
    for await (const { row: key, value: circumstances } of view.scan(this.#circumstances)) {
      yield { key, value: (await view.get(this.#values, key)) as V, ...circumstances };
    }
  }
}
