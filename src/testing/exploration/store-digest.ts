import { allColumns, parts, type RawPage, type RowMutation, type RowStore } from "../../store/index.js";
import { after, rowKey } from "../../transaction/index.js";
import { digestPage, type Hash, HashSum, hashText, type StoreWatcher } from "../world/index.js";

/** A hash of everything in a memory store, updated with each change. */
export class StoreDigest implements StoreWatcher {
  readonly #store: RowStore;
  readonly #rows = new Map<string, Hash>();
  /** Rows that have changed since the last read of the hash. */
  readonly #changed = new Map<string, { readonly table: string; readonly row: Uint8Array }>();
  readonly #sum = new HashSum();
  #changes = 0;

  /**
   * The current contents of the store do not count, because all executions of one program begin
   * with the same contents.
   */
  constructor(store: RowStore) {
    this.#store = store;
  }

  /** Count of mutations applied. */
  get changes(): number {
    return this.#changes;
  }

  applied(rows: readonly RowMutation[]): void {
    this.#changes++;
    for (const { table, row, mutations } of rows)
      if (mutations.length > 0) this.#changed.set(rowKey(table, row), { table, row });
  }

  #update(key: string, table: string, row: Uint8Array): void {
    const page = this.#store.readRaw({
      table,
      start: { row },
      end: { row: after(row) },
      columns: allColumns,
      parts,
    }) as RawPage;
    const hash = hashText(`${key}=${digestPage(page)}`);
    const known = this.#rows.get(key);
    if (known !== undefined) this.#sum.remove(known);
    this.#rows.set(key, hash);
    this.#sum.add(hash);
  }

  toString(): string {
    for (const [key, { table, row }] of this.#changed) this.#update(key, table, row);
    this.#changed.clear();
    return this.#sum.toString();
  }
}
