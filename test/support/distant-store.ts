import type { Oracle } from "../../src/oracle/index.js";
import type { RangeRead, RowMutation, RowRead, RowStore } from "../../src/store/index.js";
import { type MemoryStoreOptions, memoryStore } from "../../src/store/memory/index.js";
import { DistantStore, type Request } from "../../src/testing/world/index.js";
import type { TransactionContext } from "../../src/transaction/context.js";
import type { CommitHooks } from "../../src/transaction/steps.js";
import { bareContext } from "./context.js";

/**
 * A store of one-row mutations that answers one turn of the event loop later, and records its
 * requests.
 */
export class DistantTestStore extends DistantStore {
  readonly reads: RowRead[] = [];
  readonly scans: RangeRead[] = [];
  readonly mutations: RowMutation[] = [];
  /** Count of applied mutations. */
  applied = 0;

  constructor(options: MemoryStoreOptions = {}) {
    super({ store: memoryStore({ ...options, atomicBatches: false }), network: { send } });
  }

  /** Returns the columns of each read of a row of a table, with their names joined. */
  columnsRead(table: string): string[] {
    return this.reads
      .filter((read) => read.table === table)
      .map(({ columns }) =>
        columns.map((column) => Buffer.from("exact" in column ? column.exact : column.start)).join(" "),
      );
  }

  override readRow(read: RowRead) {
    this.reads.push(read);
    return super.readRow(read);
  }

  override readRange(read: RangeRead) {
    this.scans.push(read);
    return super.readRange(read);
  }

  override async mutate(mutation: RowMutation) {
    this.mutations.push(mutation);
    const answer = await super.mutate(mutation);
    if (answer === "applied") this.applied++;
    return answer;
  }
}

/** Performs a request one turn of the event loop later. */
async function send<T>(request: Request<T>): Promise<T> {
  await turn();
  return request.apply();
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

/** Returns a context over a distant store, without observers and without a catalog. */
export function distantContext(store: RowStore, hooks?: CommitHooks): TransactionContext {
  const settings = { commit: "two-phase", lockTtlMs: 60_000 } as const;
  return { ...bareContext(store, settings, hooks), oracle: countingOracle() };
}
