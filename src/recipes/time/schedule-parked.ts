import {
  type AnyTable,
  type Codec,
  type Column,
  json,
  type KeyCodec,
  PercolatorError,
  type Transaction,
  table,
} from "../../index.js";
import { bytesOf, columnOf, type View } from "../view.js";

/** A scheduled change that was parked after its last attempt. */
export interface ParkedScheduledChange<V, K = string> {
  readonly key: K;
  /** `undefined` if the value cannot be read. */
  readonly value: V | undefined;
  /** When the change was last due, in milliseconds since 1970. Each retry moves this time. */
  readonly dueAt: number;
  readonly attempts: number;
  /** When the change was parked, in milliseconds since 1970. */
  readonly parkedAt: number;
  /** The last failure, as text. */
  readonly error: string;
}

type Circumstances = Pick<ParkedScheduledChange<never>, "dueAt" | "attempts" | "parkedAt" | "error">;

const longestError = 2_000;

/** Converts anything that was thrown to text. */
export function textOf(error: unknown): string {
  try {
    return String(error);
  } catch {
    return "The thrown value cannot be shown.";
  }
}

/** The parked changes of one schedule. */
export class ParkedChanges<V, K> {
  readonly table: AnyTable;
  readonly #values: Column<V, K>;
  readonly #bytes: Column<Uint8Array, K>;
  readonly #circumstances: Column<Circumstances, K>;

  constructor(name: string, value: Codec<V>, key: KeyCodec<K> | undefined) {
    const parked = table(`${name}_parked`, { value, parked: json<Circumstances>() }, { key });
    this.table = parked;
    this.#values = columnOf(parked, "value");
    this.#bytes = bytesOf(this.#values);
    this.#circumstances = columnOf(parked, "parked");
  }

  /** Parks a change. `value` is its encoded value. */
  add(tx: Transaction, key: K, value: Uint8Array, circumstances: Circumstances): void {
    tx.set(this.#bytes, key, value);
    tx.set(this.#circumstances, key, { ...circumstances, error: circumstances.error.slice(0, longestError) });
  }

  /**
   * Removes a parked change and returns its encoded value, or undefined if the change is not
   * parked.
   */
  async take(tx: Transaction, key: K): Promise<Uint8Array | undefined> {
    const value = await tx.get(this.#bytes, key);
    if (value === undefined) return undefined;
    tx.delete(this.#circumstances, key);
    tx.delete(this.#values, key);
    return value;
  }

  async *list(view: View): AsyncGenerator<ParkedScheduledChange<V, K>, void, undefined> {
    for await (const { row: key, value: circumstances } of view.scan(this.#circumstances)) {
      yield { key, value: await this.#read(view, key), ...circumstances };
    }
  }

  async #read(view: View, key: K): Promise<V | undefined> {
    try {
      return await view.get(this.#values, key);
    } catch (error) {
      if (error instanceof PercolatorError && error.code === "INVALID_VALUE") return undefined;
      throw error;
    }
  }
}
