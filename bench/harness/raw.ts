import { type Database, open, type RootDatabase } from "lmdb";
import { nativeOptions } from "../../src/store/lmdb/file/opening.js";
import type { NativeEnvironment } from "../../src/store/lmdb/file/writing.js";

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

const settings = {
  readOnly: false,
  create: true,
  noReadAhead: false,
  mapSize: 256 * 2 ** 20,
  maxReaders: 1_000,
};
/** What a write thread reports when readers can see its commit, which is not flushed yet. */
const visibleStatus = 1;

/** LMDB used directly, with the same options as the embedded store. */
export class RawDatabase {
  readonly root: RootDatabase<Buffer, Buffer>;
  readonly #tables = new Map<string, RawTable>();
  /** Is told what the next write thread reports. */
  #next: ((status: number) => void) | undefined;

  constructor(folder: string) {
    this.root = open({ ...nativeOptions(folder, settings), maxDbs: 32 });
    const { env } = this.root as unknown as { readonly env: NativeEnvironment };
    const start = env.startWriting.bind(env);
    // The binding's promises resolve only after the flush, and sometimes when another thread ends: see
    // the store's `Writing`.
    const startTold: typeof start = (instructions, report) => {
      const tell = this.#next;
      this.#next = undefined;
      start(instructions, (status) => {
        const answer = report(status);
        tell?.(status);
        return answer;
      });
    };
    Object.defineProperty(env, "startWriting", { value: startTold, configurable: true });
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

  /**
   * Makes all puts in one transaction, on LMDB's own thread. Resolves when it is flushed. Calls
   * `visible` when readers can see it. Until then, nothing else may write.
   */
  commit(parts: readonly (readonly RawPut[])[], visible?: () => void): Promise<void> {
    return new Promise((flushed, failed) => {
      let tellVisible = visible;
      this.#next = (status) => {
        if (status !== visibleStatus && status !== 0) {
          failed(new Error(`LMDB did not commit: ${status}.`));
          return;
        }
        // A flush may end before the event loop learns that the commit is visible.
        tellVisible?.();
        tellVisible = undefined;
        if (status === 0) flushed();
      };
      this.root
        .batch(() => {
          for (const puts of parts) for (const put of puts) putNow(put);
        })
        .catch(failed);
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
  // In a transaction or a batch, the put's own promise carries no information.
  void table.bytes.put(key, value);
}

interface Waiting {
  readonly puts: readonly RawPut[];
  readonly done: () => void;
}

/**
 * Groups waiting puts as the embedded store does. When readers can see a group, the next one takes
 * all waiting puts, and is written during that flush. Each group also puts a counter, as the store
 * does.
 */
export class RawGroups {
  readonly #raw: RawDatabase;
  readonly #counter: RawPut;
  /** If true, a group is answered when readers can see it. Otherwise it is answered after its flush. */
  readonly #early: boolean;
  #waiting: Waiting[] = [];
  /** Whether readers cannot see the last group yet. */
  #isWriting = false;

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
    if (this.#isWriting || this.#waiting.length === 0) return;
    this.#isWriting = true;
    // The callers that were answered just now add their next puts first.
    queueMicrotask(() => this.#write());
  }

  #write(): void {
    const group = this.#waiting;
    this.#waiting = [];
    const answer = () => {
      for (const { done } of group) done();
    };
    const visible = () => {
      if (this.#early) answer();
      this.#isWriting = false;
      this.#schedule();
    };
    const parts = [...group.map(({ puts }) => puts), [this.#counter]];
    void this.#raw.commit(parts, visible).then(answer);
  }
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
