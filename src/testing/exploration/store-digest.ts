import { allColumns, parts, type RawPage, type RowMutation, type RowStore } from "../../store/index.js";
import { after, rowKey } from "../../transaction/index.js";
import { digestPage, type Hash, HashSum, hashText, type StoreWatcher } from "../world/index.js";

/** A hash of all that a memory store holds, kept up to date change by change. */
export class StoreDigest implements StoreWatcher {
  readonly #store: RowStore;
  readonly #rows = new Map<string, Hash>();
  /** Rows that have changed since the sum was last asked for. */
  readonly #changed = new Map<string, { readonly table: string; readonly row: Uint8Array }>();
  readonly #sum = new HashSum();
  #changes = 0;

  /** What the store holds already counts as nothing: executions of one program begin alike. */
  constructor(store: RowStore) {
    this.#store = store;
  }

  /** Mutations applied. */
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
