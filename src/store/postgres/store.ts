import { throwIfAborted, unlessAborted } from "../../environment/index.js";
import { ClosedError, StoreError } from "../../errors/index.js";
import { limits } from "../../schema/index.js";
import {
  checkAt,
  checkBatch,
  checkColumns,
  checkKey,
  checkLimit,
  checkMutation,
  checkTable,
} from "../check.js";
import type { AtomicBatch, BatchAnswer, MutationAnswer, RangeGuard, RowMutation } from "../mutation.js";
import type {
  AtomicStore,
  CommitOptions,
  RangePage,
  RangeRead,
  RawPage,
  RawRead,
  RowPage,
  RowRead,
  RowStore,
  StoreCapabilities,
  StoreRequestOptions,
} from "../row-store.js";
import { CounterReader } from "./read/counter.js";
import { GatheredReads } from "./read/gathered-reads.js";
import { PageReader } from "./read/pages.js";
import { readSplitPoints } from "./read/split-points.js";
import { readStatistics } from "./read/statistics.js";
import { TableIds } from "./table/table-ids.js";
import { WakeUps } from "./wake/wake-ups.js";
import type { Connections } from "./wire/connections.js";
import { Flushes } from "./write/flushes.js";
import { CommitQueue } from "./write/queue.js";
import { Request } from "./write/request.js";
import { Writer } from "./write/writer.js";

/** Far more than a transaction holds. */
const mutationCells = 100_000;
/** A row with more exact columns than this is read by itself. */
const maxGatheredColumns = 100;

const capabilities: StoreCapabilities = Object.freeze({
  atomicBatches: true,
  remote: true,
  reverseScans: true,
  mutationCells,
  inlineBytes: limits.valueBytes,
  durable: true,
  shared: true,
});

/** The parts of an open store. */
export interface Setting {
  readonly connections: Connections;
  /** The schema's name as SQL. */
  readonly schema: string;
  /** Whether commits are answered before the flush. */
  readonly isEarly: boolean;
  readonly readOnly: boolean;
}

// Symbol.for instead of a private map, since two copies of the package may be loaded in one program.
const settingKey = Symbol.for("percolatordb.postgres.setting");

/** The connections and the schema of a store on PostgreSQL. Undefined for any other store. */
export function settingOf(store: object): Setting | undefined {
  return Reflect.get(store, settingKey) as Setting | undefined;
}

/** Throws if the store was opened for reading only. */
export function checkWritable({ readOnly, connections }: Setting, doing: string): void {
  if (!readOnly) return;
  throw new StoreError(
    `The database at ${connections.place} was opened with \`readOnly\`, so it cannot ${doing}.`,
  );
}

/** See `postgresStore`. */
export class PostgresStore implements RowStore {
  readonly description: string;
  readonly capabilities = capabilities;
  readonly atomic: AtomicStore;
  readonly #setting: Setting;
  readonly #tables: TableIds;
  readonly #reads: GatheredReads;
  readonly #pages: PageReader;
  readonly #counter: CounterReader;
  readonly #writer: Writer;
  readonly #flushes: Flushes;
  readonly #queue: CommitQueue;
  readonly #wakeUps: WakeUps;
  readonly #underWay = new Set<Promise<unknown>>();
  #closing: Promise<void> | undefined;

  constructor(setting: Setting) {
    this.#setting = setting;
    const { connections, schema } = setting;
    this.description = connections.place;
    this.#tables = new TableIds(connections, schema);
    this.#reads = new GatheredReads(connections, schema);
    this.#pages = new PageReader(connections, schema);
    this.#counter = new CounterReader(connections, schema);
    this.#writer = new Writer(connections, schema);
    this.#wakeUps = new WakeUps(connections, schema);
    this.#flushes = new Flushes(connections, schema);
    const { isEarly: early } = setting;
    this.#queue = new CommitQueue({
      connections,
      writer: this.#writer,
      flushes: this.#flushes,
      tables: this.#tables,
      early,
      onCommitted: () => this.#wakeUps.committed(),
    });
    this.atomic = this.#atomicStore();
    Object.defineProperty(this, settingKey, { value: setting });
  }

  async prepare(tables: readonly string[]): Promise<void> {
    this.#open("prepare tables");
    for (const table of tables) checkTable(table);
    if (this.#setting.readOnly) return;
    const unknown = tables.filter((table) => this.#tables.known(table) === undefined);
    await this.#track(Promise.all(unknown.map((table) => this.#tables.need(table))));
  }

  async readRow(read: RowRead, options?: StoreRequestOptions): Promise<RowPage> {
    this.#reading(read, options);
    checkAt(read.at);
    checkKey(read.table, read.row, undefined);
    return await this.#track(this.#readRow(read, options?.signal), options);
  }

  async readRange(read: RangeRead, options?: StoreRequestOptions): Promise<RangePage> {
    this.#reading(read, options);
    checkAt(read.at);
    const empty: RangePage = { rows: [], next: undefined };
    return await this.#track(
      this.#inTable(read.table, empty, (table) => this.#pages.range(table, read)),
      options,
    );
  }

  async readRaw(read: RawRead, options?: StoreRequestOptions): Promise<RawPage> {
    this.#reading(read, options);
    const empty: RawPage = { rows: [], next: undefined };
    return await this.#track(
      this.#inTable(read.table, empty, (table) => this.#pages.raw(table, read)),
      options,
    );
  }

  async mutate(mutation: RowMutation, options?: StoreRequestOptions): Promise<MutationAnswer> {
    this.#writing("mutate a row", options);
    checkMutation(mutation, mutationCells, false);
    return (await this.#write([mutation], [], false, options)).answer;
  }

  async splitPoints(table: string, most: number): Promise<readonly Uint8Array[]> {
    this.#open("list split points");
    checkTable(table);
    if (most < 1) return [];
    const { connections, schema } = this.#setting;
    return await this.#track(
      this.#inTable(table, [], (number) => readSplitPoints(connections, schema, number, most)),
    );
  }

  async statistics(): Promise<Readonly<Record<string, number>>> {
    this.#open("count");
    const { connections, schema } = this.#setting;
    const ofSchema = await this.#track(readStatistics(connections, schema));
    const { outcomesAsked } = this.#writer;
    return { ...ofSchema, ...this.#queue.counts, ...this.#flushes.counts, outcomesAsked };
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    while (this.#underWay.size > 0) await Promise.allSettled(this.#underWay);
    await this.#queue.idle();
    this.#wakeUps.close();
    await this.#writer.close();
    await this.#setting.connections.close();
  }

  #atomicStore(): AtomicStore {
    return {
      counter: async () => {
        this.#open("read the counter");
        return await this.#track(this.#counter.read());
      },
      next: async (options) => {
        this.#writing("take a timestamp", options);
        const answer = await this.#write([], [], true, options);
        if (answer.answer === "applied") return answer.timestamp;
        throwIfAborted(options?.signal, "Taking a timestamp");
        const cause = answer.answer === "unknown" ? answer.cause : undefined;
        throw new StoreError(`PostgreSQL gave out no timestamp (${this.description}).`, {
          cause,
          retryable: true,
        });
      },
      commit: async (batch, options) => await this.#commit(batch, options),
      watch: (onCommit) => {
        this.#open("watch commits");
        return this.#wakeUps.watch(onCommit);
      },
    };
  }

  #commit(batch: AtomicBatch, options: CommitOptions | undefined): Promise<BatchAnswer> {
    this.#writing("commit a batch", options);
    checkBatch(batch, mutationCells);
    return this.#write(batch.rows, batch.ranges ?? [], true, options);
  }

  async #write(
    rows: readonly RowMutation[],
    ranges: readonly RangeGuard[],
    counts: boolean,
    options: CommitOptions | undefined,
  ): Promise<BatchAnswer> {
    const until = this.#setting.connections.deadline();
    const request = new Request({ rows, ranges, counts }, options, until);
    this.#queue.push(request);
    return await this.#track(request.answered);
  }

  async #readRow(read: RowRead, signal: AbortSignal | undefined): Promise<RowPage> {
    const { row, columns, at, limit } = read;
    const empty: RowPage = { row, cells: [], next: undefined };
    return await this.#inTable(read.table, empty, async (table) => {
      const exact = columns.flatMap((range) => ("exact" in range ? [range.exact] : []));
      const isGathered =
        exact.length === columns.length &&
        exact.length <= Math.min(limit ?? exact.length, maxGatheredColumns);
      if (!isGathered) return await this.#pages.row(table, read);
      const cells = await this.#reads.read({ table, row, columns: exact, at }, signal);
      return { row, cells, next: undefined };
    });
  }

  /** Reads a table by its number. A table without a number is empty. */
  async #inTable<T>(name: string, empty: T, read: (table: number) => Promise<T>): Promise<T> {
    const table = this.#tables.known(name) ?? (await this.#tables.find(name));
    return table === undefined ? empty : await read(table);
  }

  /** Keeps the store from being closed while a request is under way. */
  #track<T>(request: Promise<T>, options?: StoreRequestOptions): Promise<T> {
    this.#underWay.add(request);
    const end = () => this.#underWay.delete(request);
    request.then(end, end);
    return unlessAborted(request, options?.signal, "A read");
  }

  #reading(
    read: Pick<RawRead, "table" | "columns" | "limit">,
    options: StoreRequestOptions | undefined,
  ): void {
    this.#open("read", options);
    checkTable(read.table);
    checkColumns(read.columns);
    checkLimit(read.limit);
  }

  #writing(doing: string, options: StoreRequestOptions | undefined): void {
    this.#open(doing, options);
    checkWritable(this.#setting, doing);
  }

  #open(doing: string, options?: StoreRequestOptions): void {
    if (this.#closing !== undefined) {
      throw new ClosedError(
        `The store on ${this.description} was closed, so it cannot ${doing}. Open it again.`,
      );
    }
    throwIfAborted(options?.signal, `A request to ${doing}`);
  }
}
