import { abortError, sleep } from "../../environment/index.js";
import { ClosedError, checkOptionNames, type OptionNames } from "../../errors/index.js";
import type { AtomicStore, RowStore, StoreRequestOptions, ZeroCopyStore } from "../../store/index.js";
import { keepPage } from "../world/index.js";
import type { TestProcess } from "./process.js";

/** The options of a {@link ProcessStore}. Each has a default. */
export interface ProcessStoreOptions {
  /** Milliseconds of test time that each request takes, half of them for the answer. Default: 0. */
  readonly delayMs?: number | undefined;
}

const optionNames: OptionNames<ProcessStoreOptions> = { delayMs: true };

/** Returns or throws the result of a request whose sender no longer waits for the answer. */
type GivenUp<T> = (doing: string, signal: AbortSignal) => T;

const rejects: GivenUp<never> = (doing, signal) => {
  throw abortError(signal, doing);
};

/**
 * One process's connection to a store that several processes share. A suspended or dead process
 * sends nothing and receives nothing, but the store still performs what it has sent. Test time
 * stands still while the store answers, even from a disk. It passes only for {@link delayMs}.
 * Closing the connection leaves the shared store open for the other processes.
 *
 * @example
 * const store = memoryStore();
 * const process = clock.process();
 * const reached = new ProcessStore(store, process, { delayMs: 20 });
 * const opening = open(reached, { environment: process });
 * const db = await clock.until(opening);
 * reached.delayMs = 10_000; // from now on it is slow
 */
export class ProcessStore implements RowStore {
  readonly description: string;
  readonly capabilities: RowStore["capabilities"];
  readonly atomic: AtomicStore | undefined;
  readonly zeroCopy: ZeroCopyStore | undefined;
  /**
   * Milliseconds that each request takes, half of them for the answer. It may be changed at any
   * time.
   */
  delayMs: number;
  readonly #store: RowStore;
  readonly #process: TestProcess;
  readonly #underWay = new Set<Promise<unknown>>();
  #closed = false;

  constructor(store: RowStore, process: TestProcess, options: ProcessStoreOptions = {}) {
    checkOptionNames("ProcessStore", options, optionNames);
    this.#store = store;
    this.#process = process;
    this.delayMs = options.delayMs ?? 0;
    this.description = store.description;
    this.capabilities = store.capabilities;
    const { atomic, zeroCopy } = store;
    this.atomic = atomic && {
      counter: () => this.#read(() => atomic.counter()),
      next: (options) => this.#request("taking a timestamp", () => atomic.next(options), options, rejects),
      commit: (batch, options) =>
        this.#request(
          "a batch",
          () => atomic.commit(batch, options),
          options,
          () => ({ answer: "unknown" }),
        ),
    };
    this.zeroCopy = zeroCopy && {
      cell: (...read) => (this.#answersAtOnce ? zeroCopy.cell(...read) : undefined),
      ...(zeroCopy.textCell && {
        textCell: (...read) => (this.#answersAtOnce ? zeroCopy.textCell!(...read) : undefined),
      }),
      column: (...read) => (this.#answersAtOnce ? zeroCopy.column(...read) : undefined),
    };
  }

  /**
   * Whether reads can be answered synchronously. If not, a read waits or fails. The store then
   * lends no bytes, and the caller uses an ordinary read.
   */
  get #answersAtOnce(): boolean {
    return this.delayMs === 0 && !this.#process.isSuspended && !this.#closed;
  }

  #request<T>(
    doing: string,
    send: () => Promise<T>,
    options: StoreRequestOptions | undefined,
    givenUp: GivenUp<T>,
  ): Promise<T> {
    if (this.#closed) return Promise.reject(this.#closedError(doing));
    const request = this.#send(doing, send, options, givenUp);
    this.#underWay.add(request);
    const over = () => this.#underWay.delete(request);
    request.then(over, over);
    return request;
  }

  #closedError(doing: string): ClosedError {
    return new ClosedError(
      `The store of ${this.#process.processName} was closed: ${doing} is no longer possible.`,
    );
  }

  async #send<T>(
    doing: string,
    send: () => Promise<T>,
    options: StoreRequestOptions | undefined,
    givenUp: GivenUp<T>,
  ): Promise<T> {
    const signal = options?.signal;
    await this.#travel(signal);
    if (signal?.aborted) return rejects(doing, signal);
    const answer = await this.#process.clock.during(send());
    await this.#travel(signal);
    return signal?.aborted && this.delayMs > 0 ? givenUp(doing, signal) : answer;
  }

  /** Waits for half of the delay. An aborted request stops waiting. */
  async #travel(signal: AbortSignal | undefined): Promise<void> {
    await this.#process.turn();
    if (this.delayMs > 0) await sleep(this.#process, this.delayMs / 2, signal).catch(() => undefined);
    await this.#process.turn();
  }

  /**
   * Reads synchronously if the store can and nothing delays the read. `keep` copies a delayed answer
   * that the store gave synchronously, since it may only have lent the bytes.
   */
  #read<T>(
    read: () => T | Promise<T>,
    options?: StoreRequestOptions,
    keep: (answer: T) => T = (answer) => answer,
  ): T | Promise<T> {
    if (this.delayMs > 0 || this.#process.isSuspended) {
      const kept = async () => {
        const answer = read();
        return answer instanceof Promise ? answer : keep(answer);
      };
      return this.#request("a read", kept, options, rejects);
    }
    if (this.#closed) throw this.#closedError("a read");
    const answer = read();
    return answer instanceof Promise ? this.#process.clock.during(answer) : answer;
  }

  prepare(tables: readonly string[]): Promise<void> {
    return this.#request("preparing tables", () => this.#store.prepare(tables), undefined, rejects);
  }

  readRow(...[read, options]: Parameters<RowStore["readRow"]>) {
    return this.#read(() => this.#store.readRow(read, options), options, keepPage);
  }

  readRange(...[read, options]: Parameters<RowStore["readRange"]>) {
    return this.#read(() => this.#store.readRange(read, options), options);
  }

  readRaw(...[read, options]: Parameters<RowStore["readRaw"]>) {
    return this.#read(() => this.#store.readRaw(read, options), options);
  }

  mutate(...[mutation, options]: Parameters<RowStore["mutate"]>) {
    const send = () => this.#store.mutate(mutation, options);
    return this.#request("a mutation", send, options, () => "unknown" as const);
  }

  splitPoints(table: string, most: number): Promise<readonly Uint8Array[]> {
    return this.#request("split points", () => this.#store.splitPoints(table, most), undefined, rejects);
  }

  statistics() {
    return this.#read(() => this.#store.statistics());
  }

  async close(): Promise<void> {
    this.#closed = true;
    await Promise.allSettled(this.#underWay);
  }
}
