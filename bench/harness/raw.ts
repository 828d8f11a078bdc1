import { type Database, open, type RootDatabase } from "lmdb";

/** One put, made ready before the time is measured. */
export interface RawPut {
  readonly table: RawTable;
  readonly key: Buffer;
  readonly value: Buffer;
}

/** A named database of LMDB, with bytes for keys, once for strings and once for bytes. */
export interface RawTable {
  readonly strings: Database<string, Buffer>;
  readonly bytes: Database<Buffer, Buffer>;
}

/** LMDB used directly, with the options that the embedded store uses. */
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

  /** Puts at once, in one transaction, without waiting for a flush. For loading. */
  load(puts: readonly RawPut[]): void {
    this.root.transactionSync(() => {
      for (const put of puts) putNow(put);
    });
  }

  /** One asynchronous transaction; resolves when it is flushed. */
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
  // Inside a transaction it is done at once; the promise says nothing more.
  void table.bytes.put(key, value);
}

interface Waiting {
  readonly puts: readonly RawPut[];
  readonly done: () => void;
}

/**
 * Groups what waits as the embedded store does: all of it goes into the transaction that begins,
 * shares its flush, and the next one begins while that runs. One put a group more, as the store
 * keeps its counter.
 */
export class RawGroups {
  readonly #raw: RawDatabase;
  readonly #counter: RawPut;
  /** Answered once committed: when the next group has the lock. Else once flushed. */
  readonly #early: boolean;
  #waiting: Waiting[] = [];
  #unanswered: readonly Waiting[] = [];
  #scheduled = false;

  constructor(raw: RawDatabase, durability: "full" | "none") {
    this.#raw = raw;
    this.#early = durability === "none";
    this.#counter = { table: raw.table("counter"), key: Buffer.from("state"), value: Buffer.alloc(24) };
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
      for (const each of this.#unanswered) each.done();
      group = this.#waiting;
      this.#waiting = [];
      for (const { puts } of group) for (const put of puts) putNow(put);
      if (group.length > 0) putNow(this.#counter);
      this.#unanswered = this.#early ? group : [];
      this.#scheduled = false;
      if (this.#waiting.length > 0 || this.#unanswered.length > 0) queueMicrotask(() => this.#schedule());
    };
    const answer = () => {
      if (!this.#early) for (const each of group) each.done();
    };
    this.#raw.root.transaction(fill).then(answer, failed);
  }
}

function failed(error: unknown): never {
  throw new Error("LMDB did not commit.", { cause: error });
}

/** The key of a cell as the embedded store has it: the same bytes, so that the trees are alike. */
export function cellKey(table: string, row: string, column: string): Buffer {
  return Buffer.from(`${table}\0${row}\0\u0001${column}`);
}

/** The key under which the store keeps an older version of the cell. */
export function versionKey(cell: Buffer, timestamp: number): Buffer {
  const suffix = Buffer.alloc(10);
  suffix[1] = 1;
  suffix.writeBigUInt64BE(BigInt(Number.MAX_SAFE_INTEGER - timestamp), 2);
  return Buffer.concat([cell, suffix]);
}
