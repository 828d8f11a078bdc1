import { type Environment, type Oracle, type RowStore, systemEnvironment } from "percolatordb";
import { memoryStore } from "percolatordb/memory";
import type {
  Columns,
  MaybePromise,
  RangePage,
  RangeRead,
  RawPage,
  RawRead,
  RowMutation,
  RowPage,
  RowRead,
  StoreCapabilities,
} from "percolatordb/store";
import { type RequestKind, requestsOf } from "../harness/requests.js";

export interface WireOptions {
  /** From sending to the answer, in milliseconds. Default: 2. */
  readonly latencyMs?: number | undefined;
  readonly environment?: Environment | undefined;
}

/** Rows of one gathered request, as the Bigtable store bounds them. */
const maxRows = { read: 100, plainMutation: 1_000 };

/**
 * A store of one-row mutations and its oracle, as if on another machine: each question is a request
 * and takes its time. Counts requests as they are asked, and as a store would send them that
 * gathers those of one tick: reads of the same columns of a table at one timestamp as a row set,
 * mutations without guards of a table as one request, and all questions to the oracle that come
 * before its answer as its next request.
 */
export class WireStore implements RowStore {
  readonly description = "memory: behind a wire";
  readonly atomic = undefined;
  readonly capabilities: StoreCapabilities;
  readonly asked: Record<RequestKind, number> = requestsOf(() => 0);
  readonly gathered: Record<RequestKind, number> = requestsOf(() => 0);
  readonly oracle: Oracle;
  readonly #store: RowStore;
  readonly #environment: Environment;
  readonly #latencyMs: number;
  /** Requests of this tick that others may join, with how many rows they have. */
  #tick: Map<string, number> | undefined;
  #sending: (() => void)[] = [];

  constructor(options: WireOptions = {}) {
    this.#environment = options.environment ?? systemEnvironment;
    this.#latencyMs = options.latencyMs ?? 2;
    this.#store = memoryStore({
      atomicBatches: false,
      inlineBytes: 4_096,
      mutationCells: 10_000,
      bulkMutations: true,
      environment: this.#environment,
    });
    this.capabilities = this.#store.capabilities;
    this.oracle = this.#makeOracle();
  }

  prepare(tables: readonly string[]): Promise<void> {
    return this.#store.prepare(tables);
  }

  readRow(read: RowRead): Promise<RowPage> {
    return this.#ask(
      "read",
      areExact(read.columns) ? `${read.table} ${read.at} ${showColumns(read.columns)}` : undefined,
      () => this.#store.readRow(read),
    );
  }

  readRange(read: RangeRead): Promise<RangePage> {
    return this.#ask("scan", undefined, () => this.#store.readRange(read));
  }

  readRaw(read: RawRead): Promise<RawPage> {
    const isPoint = read.limit === 1 && read.columns.length === 1 && "exact" in read.columns[0]!;
    return this.#ask(isPoint ? "read" : "scan", undefined, () => this.#store.readRaw(read));
  }

  mutate(mutation: RowMutation) {
    const isPlain = mutation.guards.length === 0;
    return this.#ask(
      isPlain ? "plainMutation" : "conditionalMutation",
      isPlain ? mutation.table : undefined,
      () => this.#store.mutate(mutation),
    );
  }

  splitPoints(table: string, most: number): Promise<readonly Uint8Array[]> {
    return this.#store.splitPoints(table, most);
  }

  statistics(): MaybePromise<Readonly<Record<string, number>>> {
    return this.#store.statistics();
  }

  async close(): Promise<void> {}

  /**
   * Sends a request at the end of the tick. `joins`: what others must have in common with it to be
   * sent with it.
   */
  #ask<T>(kind: RequestKind, joins: string | undefined, apply: () => MaybePromise<T>): Promise<T> {
    this.asked[kind]++;
    this.#count(kind, joins);
    return new Promise<T>((resolve, reject) => {
      this.#sending.push(() => {
        Promise.resolve()
          .then(apply)
          .then(
            (answer) => this.#environment.setTimer(() => resolve(answer), this.#latencyMs),
            (error: unknown) => this.#environment.setTimer(() => reject(error), this.#latencyMs),
          );
      });
    });
  }

  #count(kind: RequestKind, joins: string | undefined): void {
    if (this.#tick === undefined) {
      this.#tick = new Map();
      this.#environment.defer(() => this.#send());
    }
    if (joins !== undefined) {
      const key = `${kind} ${joins}`;
      const rows = this.#tick.get(key) ?? 0;
      this.#tick.set(key, rows + 1);
      if (rows % (kind === "read" ? maxRows.read : maxRows.plainMutation) !== 0) return;
    }
    this.gathered[kind]++;
  }

  #send(): void {
    const sending = this.#sending;
    this.#tick = undefined;
    this.#sending = [];
    for (const send of sending) send();
  }

  #makeOracle(): Oracle {
    let last = 0;
    let waiting: ((timestamp: number) => void)[] = [];
    let isAsking = false;
    const ask = () => {
      isAsking = true;
      const served = waiting;
      waiting = [];
      this.gathered.timestamp++;
      this.#environment.setTimer(() => {
        isAsking = false;
        for (const serve of served) {
          last = Math.max(last + 1, Math.floor(this.#environment.now() * 1_000));
          serve(last);
        }
        if (waiting.length > 0) ask();
      }, this.#latencyMs);
    };
    return {
      next: () => {
        this.asked.timestamp++;
        return new Promise((resolve) => {
          waiting.push(resolve);
          if (!isAsking) ask();
        });
      },
      latest: () => last,
    };
  }
}

function areExact(columns: Columns): boolean {
  return columns.every((column) => "exact" in column);
}

function showColumns(columns: Columns): string {
  const show = (bytes: Uint8Array | undefined) =>
    bytes === undefined ? "" : Buffer.from(bytes).toString("latin1");
  return columns
    .map((column) => ("exact" in column ? show(column.exact) : `${show(column.start)}..${show(column.end)}`))
    .join("|");
}
