import type {
  AtomicStore,
  Environment,
  MutationAnswer,
  Oracle,
  RangePage,
  RangeRead,
  RawPage,
  RawRead,
  RowMutation,
  RowPage,
  RowRead,
  RowStore,
  StoreCapabilities,
} from "percolatordb";

/** A store behind a network that takes as long each way, and what went to it but for the system's own table. */
export class SlowStore implements RowStore {
  readonly description: string;
  readonly capabilities: StoreCapabilities;
  readonly atomic: AtomicStore | undefined = undefined;
  conditional = 0;
  unconditional = 0;
  rowsRead = 0;

  constructor(
    readonly store: RowStore,
    readonly environment: Environment,
    readonly oneWay: number,
  ) {
    this.description = store.description;
    this.capabilities = store.capabilities;
  }

  reset(): void {
    this.conditional = 0;
    this.unconditional = 0;
    this.rowsRead = 0;
  }

  prepare(tables: readonly string[]): Promise<void> {
    return this.store.prepare(tables);
  }

  readRow(read: RowRead): Promise<RowPage> {
    if (!isSystem(read.table)) this.rowsRead++;
    return this.#there(() => this.store.readRow(read));
  }

  readRange(read: RangeRead): Promise<RangePage> {
    return this.#there(() => this.store.readRange(read));
  }

  readRaw(read: RawRead): Promise<RawPage> {
    return this.#there(() => this.store.readRaw(read));
  }

  mutate(mutation: RowMutation): Promise<MutationAnswer> {
    if (!isSystem(mutation.table)) {
      if (mutation.guards.length > 0) this.conditional++;
      else this.unconditional++;
    }
    return this.#there(() => this.store.mutate(mutation));
  }

  splitPoints(name: string, most: number): Promise<readonly Uint8Array[]> {
    return this.#there(() => this.store.splitPoints(name, most));
  }

  statistics() {
    return this.store.statistics();
  }

  /** What several share is closed by none. */
  async close(): Promise<void> {}

  #there<T>(ask: () => T | Promise<T>): Promise<T> {
    return there(this.environment, this.oneWay, ask);
  }
}

/** An oracle as far away; asked for what one client's callers want together, one request at a time. */
export function slowOracle(next: () => Promise<number>, environment: Environment, oneWay: number): Oracle {
  let last = 1;
  return {
    next: async () => {
      last = await there(environment, oneWay, next);
      return last;
    },
    latest: () => last,
  };
}

async function there<T>(environment: Environment, oneWay: number, ask: () => T | Promise<T>): Promise<T> {
  await passing(environment, oneWay);
  const answer = await ask();
  await passing(environment, oneWay);
  return answer;
}

function passing(environment: Environment, ms: number): Promise<void> {
  return new Promise((resolve) => {
    environment.setTimer(resolve, ms);
  });
}

function isSystem(name: string): boolean {
  return name === "~system";
}
