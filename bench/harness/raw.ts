import { type Database, open, type RootDatabase } from "lmdb";

/** One put, prepared before the measured time. */
export interface RawPut {
  readonly table: RawTable;
  readonly key: Buffer;
  readonly value: Buffer;
}

/** A named database of LMDB with byte keys, opened twice: for string values and for byte values. */
export interface RawTable {
  readonly strings: Database<string, Buffer>;
  readonly bytes: Database<Buffer, Buffer>;
}

/** LMDB used directly, with the same options as the embedded store. */
export class RawDatabase {
  readonly root: RootDatabase<Buffer, Buffer>;
  readonly #tables = new Map<string, RawTable>();

  constructor(folder: string) {
    this.root = open({
      path: folder,
      noSubdir: false,
      encoding: "binary",
      keyEncoding: "binary",
      maxDbs: 32,
      noMemInit: true,
      mapSize: 256 * 2 ** 20,
    });
  }

  table(name: string): RawTable {
    let table = this.#tables.get(name);
    if (table === undefined) {
      table = {
        bytes: this.root.openDB<Buffer, Buffer>({ name, encoding: "binary", keyEncoding: "binary" }),
        strings: this.root.openDB<string, Buffer>({ name, encoding: "string", keyEncoding: "binary" }),
      };
      this.#tables.set(name, table);
    }
    return table;
  }

  /** Writes in one transaction, without waiting for a flush. For loading. */
  load(puts: readonly RawPut[]): void {
    this.root.transactionSync(() => {
      for (const put of puts) putNow(put);
    });
  }

  /** Runs one asynchronous transaction. Resolves when it is flushed. */
  async commit(puts: readonly RawPut[]): Promise<void> {
    await this.root.transaction(() => {
      for (const put of puts) putNow(put);
    });
  }

  async close(): Promise<void> {
    await this.root.flushed;
    await this.root.close();
  }
}

const putsAtOnce = 50_000;

/** Loads rows into a table, without waiting for a flush. */
export function loadRaw(
  raw: RawDatabase,
  name: string,
  rows: readonly (readonly [key: string | Buffer, value: string | Buffer])[],
): void {
  const table = raw.table(name);
  const bytes = (of: string | Buffer) => (typeof of === "string" ? Buffer.from(of) : of);
  for (let first = 0; first < rows.length; first += putsAtOnce) {
    const some = rows.slice(first, first + putsAtOnce);
    raw.load(some.map(([key, value]) => ({ table, key: bytes(key), value: bytes(value) })));
  }
}

function putNow({ table, key, value }: RawPut): void {
  // Inside a transaction the put is done at once, and the promise carries no information.
  void table.bytes.put(key, value);
}

interface Waiting {
  readonly puts: readonly RawPut[];
  readonly done: () => void;
}

/**
 * Groups waiting puts as the embedded store does. When a transaction begins, it takes all waiting
 * puts, and they share its flush. The next transaction begins during that flush. Each group also
 * puts a counter, as the store does.
 */
export class RawGroups {
  readonly #raw: RawDatabase;
  readonly #counter: RawPut;
  /**
   * If true, a group is answered before its flush: when LMDB has committed it. Otherwise it is
   * answered after its flush.
   */
  readonly #early: boolean;
  #waiting: Waiting[] = [];
  /** The groups that LMDB has not committed yet, with the numbers of their transactions. */
  #uncommitted: { readonly transaction: number; readonly group: readonly Waiting[] }[] = [];
  #scheduled = false;

  constructor(raw: RawDatabase, durability: "full" | "none") {
    this.#raw = raw;
    this.#early = durability === "none";
    this.#counter = { table: raw.table("counter"), key: Buffer.from("state"), value: Buffer.alloc(24) };
    if (this.#early) onCommit(raw.root, (transaction) => this.#committed(transaction));
  }

  #committed(transaction: number): void {
    const isCommitted = (each: { readonly transaction: number }) => each.transaction <= transaction;
    const committed = this.#uncommitted.filter(isCommitted);
    this.#uncommitted = this.#uncommitted.filter((each) => !isCommitted(each));
    for (const { group } of committed) for (const each of group) each.done();
  }

  commit(puts: readonly RawPut[]): Promise<void> {
    return new Promise((done) => {
      this.#waiting.push({ puts, done });
      this.#schedule();
    });
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    let group: readonly Waiting[] = [];
    const fill = () => {
      group = this.#waiting;
      this.#waiting = [];
      for (const { puts } of group) for (const put of puts) putNow(put);
      if (group.length > 0) putNow(this.#counter);
      if (this.#early) this.#uncommitted.push({ transaction: this.#raw.root.getWriteTxnId(), group });
      this.#scheduled = false;
      if (this.#waiting.length > 0) queueMicrotask(() => this.#schedule());
    };
    const answer = () => {
      if (!this.#early) for (const each of group) each.done();
    };
    this.#raw.root.transaction(fill).then(answer, failed);
  }
}

/** Calls `committed` with the number of each transaction that LMDB has committed. */
function onCommit(root: RootDatabase<Buffer, Buffer>, committed: (transaction: number) => void): void {
  root.on("aftercommit", (event: unknown) => {
    const { txnId } = event as { readonly txnId?: number };
    if (txnId !== undefined) committed(txnId);
  });
}

function failed(error: unknown): never {
  throw new Error("LMDB did not commit.", { cause: error });
}

/**
 * Returns the key of a cell with the same bytes as in the embedded store, so that the trees are
 * alike.
 */
export function cellKey(table: string, row: string, column: string): Buffer {
  return Buffer.from(`${table}\0${row}\0\u0001${column}`);
}

/** Returns the key under which the store keeps an older version of the cell. */
export function versionKey(cell: Buffer, timestamp: number): Buffer {
  const suffix = Buffer.alloc(10);
  suffix[1] = 1;
  suffix.writeBigUInt64BE(BigInt(Number.MAX_SAFE_INTEGER - timestamp), 2);
  return Buffer.concat([cell, suffix]);
}
