import { type Environment, type Oracle, systemEnvironment } from "percolatordb";
import { memoryStore } from "percolatordb/memory";
import type {
  Columns,
  RangeRead,
  RawRead,
  RowMutation,
  RowRead,
  StoreCapabilities,
} from "percolatordb/store";
import type { Network, Request } from "percolatordb/testing";
import { sleep } from "../../src/environment/index.js";
import { DistantStore } from "../../src/testing/world/index.js";
import { type RequestKind, requestsOf } from "../harness/requests.js";

export interface WireOptions {
  /** The time from the request to the answer, in milliseconds. Default: 2. */
  readonly latencyMs?: number | undefined;
  readonly environment?: Environment | undefined;
}

/** The most rows in one batched request, as in the Bigtable store. */
const maxRows = { read: 100, plainMutation: 1_000 };

/** The limits of the Bigtable store on one request, which decide how many requests a commit needs. */
const limits = { mutationCells: 1_000, guardBytes: 10_000, mixedGuards: false, inlineBytes: 512 } as const;

/** Sends requests at the end of the tick, and answers each after the latency. */
class Wire implements Network {
  readonly asked: Record<RequestKind, number> = requestsOf(() => 0);
  readonly gathered: Record<RequestKind, number> = requestsOf(() => 0);
  readonly environment: Environment;
  readonly latencyMs: number;
  /** Requests of this tick that further calls can join: the number of rows of each, by its key. */
  #tick: Map<string, number> | undefined;
  #sending: (() => void)[] = [];

  constructor({ environment = systemEnvironment, latencyMs = 2 }: WireOptions) {
    this.environment = environment;
    this.latencyMs = latencyMs;
  }

  /** Counts a request. `joins` is the key of the requests that can be sent together with it. */
  count(kind: RequestKind, joins?: string | undefined): void {
    this.asked[kind]++;
    if (this.#tick === undefined) {
      this.#tick = new Map();
      this.environment.defer(() => this.#endTick());
    }
    if (joins !== undefined) {
      const key = `${kind} ${joins}`;
      const rows = this.#tick.get(key) ?? 0;
      this.#tick.set(key, rows + 1);
      if (rows % (kind === "read" ? maxRows.read : maxRows.plainMutation) !== 0) return;
    }
    this.gathered[kind]++;
  }

  async send<T>(request: Request<T>): Promise<T> {
    await new Promise<void>((resolve) => this.#sending.push(resolve));
    try {
      return await request.apply();
    } finally {
      await sleep(this.environment, this.latencyMs);
    }
  }

  #endTick(): void {
    const sending = this.#sending;
    this.#tick = undefined;
    this.#sending = [];
    for (const send of sending) send();
  }
}

/**
 * A store of one-row mutations and its oracle, simulated as on another machine: each call is a
 * request with a latency. It counts the requests in two ways: as asked, and as sent by a store that
 * batches the requests of one tick.
 *
 * - Reads of the same columns of a table at one timestamp are sent as one row set.
 * - Mutations without guards of one table are sent as one request.
 * - Calls to the oracle that arrive while a request is under way are sent together as the next one.
 */
export class WireStore extends DistantStore {
  override readonly capabilities: StoreCapabilities;
  readonly asked: Readonly<Record<RequestKind, number>>;
  readonly gathered: Readonly<Record<RequestKind, number>>;
  readonly oracle: Oracle;
  readonly #wire: Wire;

  constructor(options: WireOptions = {}) {
    const network = new Wire(options);
    const { asked, gathered, environment } = network;
    const store = memoryStore({
      atomicBatches: false,
      inlineBytes: limits.inlineBytes,
      mutationCells: limits.mutationCells,
      bulkMutations: true,
      environment,
    });
    super({ store, network });
    this.capabilities = Object.freeze({ ...store.capabilities, ...limits });
    this.#wire = network;
    this.asked = asked;
    this.gathered = gathered;
    this.oracle = oracleBehind(network);
  }

  override readRow(read: RowRead) {
    const joins = `${read.table} ${read.at} ${showColumns(read.columns)}`;
    this.#wire.count("read", areExact(read.columns) ? joins : undefined);
    return super.readRow(read);
  }

  override readRange(read: RangeRead) {
    this.#wire.count("scan");
    return super.readRange(read);
  }

  override readRaw(read: RawRead) {
    const isPoint = read.limit === 1 && read.columns.length === 1 && areExact(read.columns);
    this.#wire.count(isPoint ? "read" : "scan");
    return super.readRaw(read);
  }

  override mutate(mutation: RowMutation) {
    if (mutation.guards.length === 0) this.#wire.count("plainMutation", mutation.table);
    else this.#wire.count("conditionalMutation");
    return super.mutate(mutation);
  }
}

function oracleBehind({ asked, gathered, environment, latencyMs }: Wire): Oracle {
  let last = 0;
  let waiting: ((timestamp: number) => void)[] = [];
  let isAsking = false;
  const ask = () => {
    isAsking = true;
    const served = waiting;
    waiting = [];
    gathered.timestamp++;
    environment.setTimer(() => {
      isAsking = false;
      for (const serve of served) {
        last = Math.max(last + 1, Math.floor(environment.now() * 1_000));
        serve(last);
      }
      if (waiting.length > 0) ask();
    }, latencyMs);
  };
  return {
    next: () => {
      asked.timestamp++;
      return new Promise((resolve) => {
        waiting.push(resolve);
        if (!isAsking) ask();
      });
    },
    latest: () => last,
  };
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
