import { type Environment, throwIfAborted } from "../../environment/index.js";
import { ClosedError } from "../../errors/index.js";
import { checkAt, checkColumns, checkKey, checkLimit, checkMutation, checkTable } from "../check.js";
import type { MutationAnswer, RowMutation } from "../mutation.js";
import type {
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
import { type BigtableLocation, showLocation } from "./location.js";
import type { Mutation } from "./protos/codec.js";
import { GatheredReads } from "./read/gather-reads.js";
import { isGatherable, versionKind, viewKind } from "./read/kinds.js";
import { readColumns, readPages, type Source } from "./read/pages.js";
import { readPagesReversed } from "./read/reverse.js";
import { Rows } from "./read/rows.js";
import { noCounts, showCounts } from "./statistics.js";
import { encodeRow } from "./table/names.js";
import { readSplitPoints } from "./table/split.js";
import type { KnownTable, Tables } from "./table/tables.js";
import { holdBack, type RepeatOptions } from "./wire/repeat.js";
import { checkAndMutateRow, encodeFilter } from "./wire/rpc.js";
import { isRefusal, storeError } from "./wire/status.js";
import type { Transport } from "./wire/transport.js";
import { GatheredWrites } from "./write/gather-writes.js";
import { type Predicate, predicateOf } from "./write/guards.js";
import { encodeMutations } from "./write/mutations.js";

/**
 * The maximum number of cells in one mutation. Guards have a separate limit (`guardBytes`): a
 * filter has at most 20,480 bytes, and names the column of each guard twice.
 */
const mutationCells = 1_000;

const capabilities: StoreCapabilities = Object.freeze({
  atomicBatches: false,
  reverseScans: true,
  mutationCells,
  guardBytes: 10_000,
  mixedGuards: false,
  inlineBytes: 512,
  durable: true,
  shared: true,
});

interface MutationRequest {
  readonly row: Uint8Array;
  readonly mutations: readonly Mutation[];
  readonly predicate: Predicate;
  readonly signal: AbortSignal | undefined;
}

/** The parts of an open store. */
export interface Setting {
  readonly place: BigtableLocation;
  readonly transport: Transport;
  readonly admin: Transport;
  readonly tables: Tables;
  readonly environment: Environment;
  readonly gather: boolean;
  readonly deadlineMs: number;
  readonly retryForMs: number;
  readonly emulator: boolean;
}

/** See `openBigtableStore`. */
export class BigtableStore implements RowStore {
  readonly description: string;
  readonly capabilities: StoreCapabilities;
  readonly atomic = undefined;
  readonly #setting: Setting;
  readonly #counts = noCounts();
  readonly #repeating: RepeatOptions;
  readonly #rows: Rows;
  readonly #reads: GatheredReads;
  readonly #writes: GatheredWrites;
  #underWay = 0;
  #whenIdle: (() => void)[] = [];
  readonly #ending = new AbortController();
  #closing: Promise<void> | undefined;

  constructor(setting: Setting) {
    this.#setting = setting;
    const { place, transport, environment, gather, deadlineMs, retryForMs } = setting;
    this.capabilities = Object.freeze({ ...capabilities, bulkMutations: gather });
    this.description = showLocation(place);
    const shared = { transport, profile: place.profile, counts: this.#counts };
    const closing = this.#ending.signal;
    this.#repeating = { environment, deadlineMs, retryForMs, closing };
    this.#rows = new Rows({ ...shared, ...this.#repeating });
    this.#reads = new GatheredReads(this.#rows, environment, gather);
    this.#writes = new GatheredWrites({ ...shared, environment, deadlineMs, closing, gather });
  }

  async prepare(names: readonly string[]): Promise<void> {
    this.#begin("prepare tables");
    try {
      for (const name of names) checkTable(name);
      const { tables } = this.#setting;
      await Promise.all(names.map((name) => tables.known(name) ?? tables.need(name)));
    } finally {
      this.#end();
    }
  }

  readRow(read: RowRead, options?: StoreRequestOptions): Promise<RowPage> {
    const signal = this.#reading(read, options);
    try {
      checkAt(read.at);
      checkKey(read.table, read.row, undefined);
    } catch (error) {
      this.#end();
      throw error;
    }
    const table = this.#setting.tables.known(read.table);
    if (table === undefined || read.limit !== undefined || !isGatherable(read)) {
      return this.#readColumns(read, signal).finally(() => this.#end());
    }
    return this.#readFew(table, read, signal, () => this.#end());
  }

  #readFew(
    table: KnownTable,
    read: RowRead,
    signal: AbortSignal | undefined,
    whenEnded?: () => void,
  ): Promise<RowPage> {
    const { row, columns, at } = read;
    return new Promise((resolve, reject) => {
      this.#reads.read({ table, row, columns, at, signal }, (error, cells) => {
        whenEnded?.();
        if (error === null) resolve({ row, cells, next: undefined });
        else reject(error);
      });
    });
  }

  async #readColumns(read: RowRead, signal: AbortSignal | undefined): Promise<RowPage> {
    const { row, columns, at, limit } = read;
    const table = await this.#find(read.table);
    if (table === undefined) return { row, cells: [], next: undefined };
    if (limit === undefined && isGatherable(read)) return await this.#readFew(table, read, signal);
    const page = await readColumns(this.#source(table, signal), viewKind(at), row, columns, limit);
    if (limit === undefined || page.cells.length <= limit) return { row, ...page };
    return { row, cells: page.cells.slice(0, limit), next: page.cells[limit]!.column };
  }

  async readRange(read: RangeRead, options?: StoreRequestOptions): Promise<RangePage> {
    const signal = this.#reading(read, options);
    try {
      checkAt(read.at);
      const table = await this.#find(read.table);
      if (table === undefined) return { rows: [], next: undefined };
      const { start, end, columns, limit } = read;
      const request = { start, end, columns, limit };
      const source = this.#source(table, signal);
      if (!read.reverse) return await readPages(source, viewKind(read.at), request);
      return await readPagesReversed(source, viewKind(read.at), request, !this.#setting.emulator);
    } finally {
      this.#end();
    }
  }

  async readRaw(read: RawRead, options?: StoreRequestOptions): Promise<RawPage> {
    const signal = this.#reading(read, options);
    try {
      const table = await this.#find(read.table);
      const kind = versionKind(read);
      if (table === undefined || kind === undefined) return { rows: [], next: undefined };
      const { start, end, columns, limit } = read;
      return await readPages(this.#source(table, signal), kind, { start, end, columns, limit });
    } finally {
      this.#end();
    }
  }

  mutate(mutation: RowMutation, options?: StoreRequestOptions): Promise<MutationAnswer> {
    try {
      this.#begin("mutate a row", options);
    } catch (error) {
      return Promise.reject(error);
    }
    let predicate: Predicate;
    let mutations: readonly Mutation[];
    try {
      checkMutation(mutation, mutationCells, false);
      mutations = encodeMutations(mutation);
      predicate = predicateOf(mutation.guards);
    } catch (error) {
      this.#end();
      return Promise.reject(error);
    }
    const { row } = mutation;
    const request = { row, mutations, predicate, signal: options?.signal };
    const table = this.#setting.tables.known(mutation.table);
    if (table === undefined || typeof predicate === "string" || mutations.length === 0) {
      return this.#mutateOtherwise(mutation.table, request).finally(() => this.#end());
    }
    return this.#mutateIf(table, request, predicate, () => this.#end());
  }

  async #mutateOtherwise(name: string, request: MutationRequest): Promise<MutationAnswer> {
    const { row, mutations, predicate, signal } = request;
    const { tables } = this.#setting;
    const table = tables.known(name) ?? (await tables.need(name));
    throwIfAborted(signal, "A request to mutate a row");
    if (predicate === "never") return "rejected";
    if (predicate === "always") {
      if (mutations.length === 0) return "applied";
      return await this.#writes.mutate({ table, row, mutations, signal });
    }
    if (mutations.length === 0) return await this.#check(table, row, predicate, signal);
    return await this.#mutateIf(table, request, predicate);
  }

  async splitPoints(name: string, most: number): Promise<readonly Uint8Array[]> {
    this.#begin("list split points");
    try {
      checkTable(name);
      const table = await this.#find(name);
      if (table === undefined || most < 1) return [];
      const { transport, place } = this.#setting;
      return await readSplitPoints(transport, table, { profile: place.profile, ...this.#repeating }, most);
    } finally {
      this.#end();
    }
  }

  statistics(): Readonly<Record<string, number>> {
    this.#open("count");
    return showCounts(this.#counts, this.#setting.tables.all().length);
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#ending.abort();
    this.#setting.tables.stopRepeating();
    if (this.#underWay > 0) await new Promise<void>((resolve) => this.#whenIdle.push(resolve));
    this.#setting.transport.close();
    this.#setting.admin.close();
  }

  #mutateIf(
    table: KnownTable,
    { row, mutations, signal }: MutationRequest,
    { filter, holds }: Exclude<Predicate, string>,
    whenEnded?: () => void,
  ): Promise<MutationAnswer> {
    const { transport, deadlineMs, place, environment } = this.#setting;
    const until = environment.monotonic() + deadlineMs;
    const request = {
      tableName: table.path,
      appProfileId: place.profile,
      rowKey: encodeRow(row),
      predicateFilter: filter,
      trueMutations: holds ? mutations : undefined,
      falseMutations: holds ? undefined : mutations,
    };
    this.#counts.conditional++;
    return new Promise((resolve, reject) => {
      transport.ask(
        checkAndMutateRow,
        request,
        { metadata: table.mutating, deadlineMs, signal },
        (error, answer) => {
          const settle = () => {
            whenEnded?.();
            if (error === null) {
              resolve((answer!.predicateMatched === true) === holds ? "applied" : "rejected");
            } else if (isRefusal(error.code)) {
              reject(storeError(error, `mutate a row of table ${JSON.stringify(table.name)}`));
            } else {
              this.#counts.unknown++;
              resolve("unknown");
            }
          };
          const held = error === null ? undefined : holdBack(this.#repeating, error, until, signal);
          if (held === undefined) settle();
          else void held.then(settle);
        },
      );
    });
  }

  /**
   * Checks guards that have no mutations. This is a read, because Bigtable refuses a conditional
   * mutation that mutates nothing.
   */
  async #check(
    table: KnownTable,
    row: Uint8Array,
    { filter, holds }: Exclude<Predicate, string>,
    signal: AbortSignal | undefined,
  ): Promise<MutationAnswer> {
    let found = false;
    const rows = { rowKeys: [encodeRow(row)] };
    await this.#rows.read({ table, rows, filter: encodeFilter(filter), signal }, () => {
      found = true;
      return false;
    });
    return found === holds ? "applied" : "rejected";
  }

  #find(name: string): KnownTable | Promise<KnownTable | undefined> {
    const { tables } = this.#setting;
    return tables.known(name) ?? tables.find(name);
  }

  #source(table: KnownTable, signal: AbortSignal | undefined): Source {
    return { rows: this.#rows, table, signal };
  }

  #reading(
    read: Pick<RawRead, "table" | "columns" | "limit">,
    options: StoreRequestOptions | undefined,
  ): AbortSignal | undefined {
    this.#begin("read", options);
    try {
      checkTable(read.table);
      checkColumns(read.columns);
      checkLimit(read.limit);
    } catch (error) {
      this.#end();
      throw error;
    }
    return options?.signal;
  }

  #begin(doing: string, options?: StoreRequestOptions): void {
    this.#open(doing);
    if (options?.signal !== undefined) throwIfAborted(options.signal, `A request to ${doing}`);
    this.#underWay++;
  }

  #end(): void {
    if (--this.#underWay > 0) return;
    for (const resolve of this.#whenIdle.splice(0)) resolve();
  }

  #open(doing: string): void {
    if (this.#closing !== undefined) {
      throw new ClosedError(
        `The store on ${this.description} was closed, so it cannot ${doing}. Open it again.`,
      );
    }
  }
}
