import type { Oracle } from "../../src/oracle/index.js";
import type {
  MutationAnswer,
  RangePage,
  RangeRead,
  RawPage,
  RawRead,
  RowMutation,
  RowPage,
  RowRead,
  RowStore,
} from "../../src/store/index.js";
import { type MemoryStoreOptions, memoryStore } from "../../src/store/memory/index.js";
import type { TransactionContext } from "../../src/transaction/context.js";
import type { CommitHooks } from "../../src/transaction/steps.js";
import { bareContext } from "./context.js";

/**
 * A store of one-row mutations that answers one turn of the event loop later, and records its
 * requests.
 */
export class DistantTestStore implements RowStore {
  readonly description = "distant";
  readonly atomic = undefined;
  readonly reads: RowRead[] = [];
  readonly scans: RangeRead[] = [];
  readonly mutations: RowMutation[] = [];
  /** Count of applied mutations. */
  applied = 0;
  readonly #store: RowStore;

  constructor(options: MemoryStoreOptions = {}) {
    this.#store = memoryStore({ ...options, atomicBatches: false });
  }

  get capabilities() {
    return this.#store.capabilities;
  }

  /** Returns the columns of each read of a row of a table, with their names joined. */
  columnsRead(table: string): string[] {
    return this.reads
      .filter((read) => read.table === table)
      .map(({ columns }) =>
        columns.map((column) => Buffer.from("exact" in column ? column.exact : column.start)).join(" "),
      );
  }

  async prepare(tables: readonly string[]): Promise<void> {
    await this.#store.prepare(tables);
  }

  async readRow(read: RowRead): Promise<RowPage> {
    this.reads.push(read);
    await turn();
    return this.#store.readRow(read);
  }

  async readRange(read: RangeRead): Promise<RangePage> {
    this.scans.push(read);
    await turn();
    return this.#store.readRange(read);
  }

  async readRaw(read: RawRead): Promise<RawPage> {
    await turn();
    return this.#store.readRaw(read);
  }

  async mutate(mutation: RowMutation): Promise<MutationAnswer> {
    this.mutations.push(mutation);
    await turn();
    const answer = await this.#store.mutate(mutation);
    if (answer === "applied") this.applied++;
    return answer;
  }

  splitPoints(table: string, most: number): Promise<readonly Uint8Array[]> {
    return this.#store.splitPoints(table, most);
  }

  statistics() {
    return this.#store.statistics();
  }

  close(): Promise<void> {
    return this.#store.close();
  }
}

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** An oracle that counts. */
export function countingOracle(): Oracle {
  let last = 1_000;
  return {
    async next() {
      await turn();
      return ++last;
    },
    latest: () => last,
  };
}

/** Returns a context over such a store, without observers and without a catalog. */
export function distantContext(store: RowStore, hooks?: CommitHooks): TransactionContext {
  const settings = { commit: "two-phase", lockTtlMs: 60_000 } as const;
  return { ...bareContext(store, settings, hooks), oracle: countingOracle() };
}
