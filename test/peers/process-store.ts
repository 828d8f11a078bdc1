import type { RowStore } from "percolatordb";
import type { Clock, ProcessEnvironment } from "./clock.js";

/**
 * The store that several processes share, as one of them has it: closing it leaves it to the others, and a process that
 * was stopped sends nothing and hears nothing.
 */
export class ProcessStore implements RowStore {
  readonly description: string;
  readonly capabilities: RowStore["capabilities"];
  readonly atomic: RowStore["atomic"];
  readonly #store: RowStore;
  readonly #clock: Clock;
  readonly #process: ProcessEnvironment;

  constructor(store: RowStore, clock: Clock, process: ProcessEnvironment) {
    this.#store = store;
    this.#clock = clock;
    this.#process = process;
    this.description = store.description;
    this.capabilities = store.capabilities;
    const atomic = store.atomic;
    this.atomic = atomic && {
      counter: () => atomic.counter(),
      next: (options) => this.#request(() => atomic.next(options)),
      commit: (batch, options) => this.#request(() => atomic.commit(batch, options)),
    };
  }

  async #request<T>(send: () => Promise<T>): Promise<T> {
    await this.#process.turn();
    const answer = await this.#clock.during(send());
    await this.#process.turn();
    return answer;
  }

  #read<T>(read: () => T | Promise<T>): T | Promise<T> {
    return this.#process.isSuspended ? this.#request(async () => read()) : read();
  }

  prepare(tables: readonly string[]): Promise<void> {
    return this.#request(() => this.#store.prepare(tables));
  }

  readRow(...request: Parameters<RowStore["readRow"]>) {
    return this.#read(() => this.#store.readRow(...request));
  }

  readRange(...request: Parameters<RowStore["readRange"]>) {
    return this.#read(() => this.#store.readRange(...request));
  }

  readRaw(...request: Parameters<RowStore["readRaw"]>) {
    return this.#read(() => this.#store.readRaw(...request));
  }

  mutate(...request: Parameters<RowStore["mutate"]>) {
    return this.#request(() => this.#store.mutate(...request));
  }

  splitPoints(table: string, most: number): Promise<readonly Uint8Array[]> {
    return this.#store.splitPoints(table, most);
  }

  statistics() {
    return this.#store.statistics();
  }

  async close(): Promise<void> {}
}
