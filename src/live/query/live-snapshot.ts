import { InvalidArgumentError } from "../../errors/index.js";
import {
  type AnyTable,
  type Column,
  definition,
  encodeRow,
  type Family,
  familyRange,
  isColumn,
  isFamily,
  isTable,
  type KeyOf,
  type RowOf,
} from "../../schema/index.js";
import {
  checkRows,
  type EntriesOptions,
  type Entry,
  type ScanItem,
  type Scannable,
  type ScanOptions,
  Snapshot,
  type SnapshotSettings,
  scanRange,
  scanTarget,
  type TransactionContext,
  type ValueOfScanned,
} from "../../transaction/index.js";
import type { QueryReads, ReadProgress } from "./query-reads.js";

/** The snapshot that the function of a live query gets. It keeps account of what is read. */
export class LiveSnapshot extends Snapshot {
  readonly #reads: QueryReads;

  constructor(
    context: TransactionContext,
    timestamp: number,
    reads: QueryReads,
    settings: SnapshotSettings = {},
  ) {
    super(context, timestamp, settings);
    this.#reads = reads;
  }

  override async get<V, K>(column: Column<V, K>, row: NoInfer<K>): Promise<V | undefined> {
    this.#recordCell(column, row);
    return super.get(column, row);
  }

  override async getMany<V, K>(column: Column<V, K>, rows: Iterable<NoInfer<K>>): Promise<(V | undefined)[]> {
    checkRows(rows);
    const all = [...rows];
    for (const row of all) this.#recordCell(column, row);
    return super.getMany(column, all);
  }

  override async row<T extends AnyTable>(table: T, row: KeyOf<T>): Promise<RowOf<T> | undefined> {
    if (isTable(table)) {
      const defined = table[definition];
      this.#reads.row(defined.name, encodeRow(defined, row));
    }
    const found = await super.row(table, row);
    this.#reads.count(cellsOf(found));
    return found;
  }

  override entries<V, K>(
    family: Family<V, K>,
    row: NoInfer<K>,
    options: EntriesOptions = {},
  ): AsyncIterableIterator<Entry<V>> {
    const entries = super.entries(family, row, options);
    if (!isFamily(family)) return entries;
    const { table, name } = family;
    const { start, end } = familyRange(name, options);
    const progress = this.#reads.entries(table.name, encodeRow(table, row), start, end);
    return new RecordedScan(entries, options.limit, progress, ({ qualifier }) => ({
      place: () => family.at(qualifier).path,
      cells: 1,
    }));
  }

  override scan<T extends Scannable>(
    target: T,
    options: ScanOptions<KeyOf<T>> = {},
  ): AsyncIterableIterator<ScanItem<KeyOf<T>, ValueOfScanned<T>>> {
    const items = super.scan(target, options);
    const { table, columns } = scanTarget(target);
    const range = scanRange(table, options as ScanOptions<unknown>);
    if (range === undefined) return items;
    const progress = this.#reads.rows({ table: table.name, ...range, columns }, options.reverse ?? false);
    const isOneCell = isColumn(target);
    return new RecordedScan(items, options.limit, progress, ({ row, value }) => {
      // The function may change its key.
      const key = copyOfKey(row);
      return { place: () => encodeRow(table, key), cells: isOneCell ? 1 : cellsOf(value) };
    });
  }

  #recordCell(column: Column<unknown, unknown>, row: unknown): void {
    if (!isColumn(column)) return;
    const { table, path } = column;
    let bytes: Uint8Array;
    try {
      bytes = encodeRow(table, row);
    } catch {
      // The read itself says what is wrong.
      return;
    }
    this.#reads.cell({ table: table.name, row: bytes, column: path });
  }
}

/** What programs that were written for transactions may try to call. */
const writes = ["set", "delete", "deleteRow", "notify", "commit", "onCommit", "transact"] as const;
for (const name of writes) {
  Object.defineProperty(LiveSnapshot.prototype, name, {
    value: () => {
      throw new InvalidArgumentError(
        `The function of \`db.live\` called \`${name}\`, but it can only read, because it runs again after each ` +
          "change of what it read. Write in `db.transact`, outside of the function.",
      );
    },
  });
}

function copyOfKey(key: unknown): unknown {
  if (Array.isArray(key)) return key.map(copyOfKey);
  return key instanceof Uint8Array ? Buffer.from(key) : key;
}

/** The number of cells in a row, or in the part of it that belongs to a family. At least 1. */
function cellsOf(value: unknown): number {
  if (value instanceof Map) return value.size;
  if (typeof value !== "object" || value === null) return 1;
  let cells = 0;
  for (const each of Object.values(value)) cells += each instanceof Map ? each.size : 1;
  return Math.max(1, cells);
}

/** Passes the items of a scan on, and keeps account of how far its caller has come. */
class RecordedScan<T> implements AsyncIterableIterator<T> {
  readonly #items: AsyncIterableIterator<T>;
  readonly #limit: number;
  readonly #progress: ReadProgress;
  readonly #measure: (item: T) => { readonly place: () => Uint8Array; readonly cells: number };
  #taken = 0;
  #hasReturned = false;

  constructor(
    items: AsyncIterableIterator<T>,
    limit: number | undefined,
    progress: ReadProgress,
    measure: (item: T) => { readonly place: () => Uint8Array; readonly cells: number },
  ) {
    this.#items = items;
    this.#limit = limit ?? Number.POSITIVE_INFINITY;
    this.#progress = progress;
    this.#measure = measure;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<T>> {
    let answer: IteratorResult<T>;
    try {
      answer = await this.#items.next();
    } catch (error) {
      // The function may catch it, and then depends on what could not be read.
      this.#progress.end();
      throw error;
    }
    if (answer.done === true) {
      if (!this.#hasReturned && this.#taken < this.#limit) this.#progress.end();
      return answer;
    }
    this.#taken++;
    const { place, cells } = this.#measure(answer.value);
    this.#progress.take(place, cells);
    return answer;
  }

  async return(): Promise<IteratorResult<T>> {
    this.#hasReturned = true;
    return (await this.#items.return?.()) ?? { done: true, value: undefined };
  }
}
