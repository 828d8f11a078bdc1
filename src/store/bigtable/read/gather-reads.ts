import { abortError, type Environment, onAbort } from "../../../environment/index.js";
import { byteString } from "../../bytes.js";
import type { CellView, Columns } from "../../cell.js";
import { encodeRow } from "../table/names.js";
import type { KnownTable } from "../table/tables.js";
import type { RoutingCookies } from "../wire/cookies.js";
import { type EncodedFilter, encodeFilter } from "../wire/rpc.js";
import type { ReadCell } from "./chunks.js";
import { viewFilter } from "./filter.js";
import type { Rows } from "./rows.js";
import { viewCells } from "./views.js";

/**
 * The maximum number of rows in a request, and of bytes in its answer. After that many bytes,
 * another request asks for the remaining rows.
 */
const maxRows = 100;
const maxBytes = 8 << 20;
/** Number of cached filters. */
const maxFilters = 100;

export interface GatheredRead {
  readonly table: KnownTable;
  readonly row: Uint8Array;
  /** Few columns, each by its exact name. */
  readonly columns: Columns;
  readonly at: number;
  readonly signal: AbortSignal | undefined;
}

interface Waiter {
  resolve(cells: readonly ReadCell[]): void;
  reject(error: unknown): void;
}

/** Reads that ask for the same columns of a table at the same timestamp. */
interface Group {
  readonly read: GatheredRead;
  /** By key, as a string. */
  readonly waiting: Map<string, { readonly key: Uint8Array; readonly waiters: Waiter[] }>;
}

/**
 * Sends the reads of one turn of the event loop for the same columns at the same timestamp as one
 * request for a set of rows. Each row is still read atomically. As with separate requests,
 * different rows may be read at different moments.
 */
export class GatheredReads {
  readonly #rows: Rows;
  readonly #environment: Environment;
  readonly #gather: boolean;
  readonly #filters = new Map<string, EncodedFilter>();
  #groups = new Map<string, Group>();

  constructor(rows: Rows, environment: Environment, gather: boolean) {
    this.#rows = rows;
    this.#environment = environment;
    this.#gather = gather;
  }

  /** `done` gets the views of the row's columns, or the error. */
  read(read: GatheredRead, done: (error: unknown, cells: readonly CellView[]) => void): void {
    const { signal, at } = read;
    if (!this.#gather) {
      this.#rows.readOne(read.table, encodeRow(read.row), this.#filter(read), signal, (error, cells) =>
        done(error, viewCells(cells, at)),
      );
      return;
    }
    const cells = signal === undefined ? this.#join(read) : this.#joinUntil(read, signal);
    cells.then(
      (cells) => done(null, viewCells(cells, at)),
      (error: unknown) => done(error, []),
    );
  }

  /** Cached, because a transaction reads the same columns of many rows at its one timestamp. */
  #filter(read: GatheredRead): EncodedFilter {
    const key = filterKey(read);
    let filter = this.#filters.get(key);
    if (filter === undefined) {
      if (this.#filters.size >= maxFilters) this.#filters.clear();
      filter = encodeFilter(viewFilter(read.columns, read.at, undefined));
      this.#filters.set(key, filter);
    }
    return filter;
  }

  #join(read: GatheredRead): Promise<readonly ReadCell[]> {
    const name = `${read.table.path}\n${filterKey(read)}`;
    let group = this.#groups.get(name);
    if (group === undefined) {
      if (this.#groups.size === 0) this.#environment.defer(() => this.#send());
      group = { read, waiting: new Map() };
      this.#groups.set(name, group);
    }
    const key = encodeRow(read.row);
    const text = byteString(key);
    const { waiting } = group;
    return new Promise((resolve, reject) => {
      const waiter = { resolve, reject };
      const same = waiting.get(text);
      if (same === undefined) waiting.set(text, { key, waiters: [waiter] });
      else same.waiters.push(waiter);
    });
  }

  /** If a caller gives up, the request continues for the other callers. */
  #joinUntil(read: GatheredRead, signal: AbortSignal): Promise<readonly ReadCell[]> {
    if (signal.aborted) return Promise.reject(abortError(signal, "A read"));
    return new Promise((resolve, reject) => {
      const stopListening = onAbort(signal, () => reject(abortError(signal, "A read")));
      this.#join(read).then(resolve, reject).finally(stopListening);
    });
  }

  #send(): void {
    const groups = [...this.#groups.values()];
    this.#groups = new Map();
    for (const group of groups) {
      const keys = [...group.waiting.keys()];
      for (let from = 0; from < keys.length; from += maxRows) {
        this.#sendSome(group, new Set(keys.slice(from, from + maxRows)));
      }
    }
  }

  #sendSome(group: Group, left: Set<string>): void {
    this.#readAll(group, left).catch((error: unknown) => {
      for (const text of left) for (const waiter of group.waiting.get(text)!.waiters) waiter.reject(error);
    });
  }

  /**
   * Reads until `left` is empty. If a stream breaks or brings more than `maxBytes`, another request
   * asks for the remaining rows.
   */
  async #readAll({ read, waiting }: Group, left: Set<string>): Promise<void> {
    const filter = this.#filter(read);
    const answer = (text: string, cells: readonly ReadCell[]) => {
      if (left.delete(text)) for (const waiter of waiting.get(text)!.waiters) waiter.resolve(cells);
    };
    let cookies: RoutingCookies | undefined;
    while (left.size > 0) {
      let bytes = 0;
      const rowKeys = [...left].map((text) => waiting.get(text)!.key);
      const end = await this.#rows.read(
        { table: read.table, rows: { rowKeys }, filter, cookies },
        ({ key, cells }) => {
          answer(byteString(key), cells);
          for (const cell of cells) bytes += cell.value.length;
          return bytes < maxBytes;
        },
      );
      cookies = end.cookies;
      // A row without cells is not in the answer.
      const passed = end.lastKey && byteString(end.lastKey);
      for (const text of left)
        if (end.how === "complete" || (passed !== undefined && text <= passed)) answer(text, []);
    }
  }
}

function filterKey({ columns, at }: GatheredRead): string {
  let key = `${at}`;
  for (const range of columns) {
    const column = byteString("exact" in range ? range.exact : range.start);
    key += `\n${column.length}:${column}`;
  }
  return key;
}
