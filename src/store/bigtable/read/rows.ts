import { abortError } from "../../../environment/index.js";
import type { RowSet } from "../protos/codec.js";
import { int64 } from "../protos/int64.js";
import type { Counts } from "../statistics.js";
import type { KnownTable } from "../table/tables.js";
import type { RoutingCookies } from "../wire/cookies.js";
import { Attempts, type RepeatOptions } from "../wire/repeat.js";
import { type EncodedFilter, readRows } from "../wire/rpc.js";
import { codeOf, mayPass, storeError } from "../wire/status.js";
import type { Transport } from "../wire/transport.js";
import { type ReadCell, type ReadRow, RowAssembler } from "./chunks.js";

export interface RowsRequest {
  readonly table: KnownTable;
  readonly rows: RowSet;
  readonly filter: EncodedFilter;
  /** The maximum number of rows. Default: all. */
  readonly limit?: number | undefined;
  readonly reversed?: boolean | undefined;
  /** Stops within a row that has more bytes than this. Default: never. */
  readonly rowBytes?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  /** The routing cookies of the read that this one continues. */
  readonly cookies?: RoutingCookies | undefined;
}

/**
 * How a read ended. `complete`: everything was read. `enough`: the caller wanted no more rows.
 * `cut`: the stream broke after `lastKey`. `wide`: a row had more bytes than the limit.
 */
export interface RowsEnd {
  readonly how: "complete" | "enough" | "cut" | "wide";
  /** The key up to which all rows were received. */
  readonly lastKey: Uint8Array | undefined;
  /** The row that was too wide. */
  readonly openKey: Uint8Array | undefined;
  /** The routing cookies for the read that continues after a `cut`. */
  readonly cookies?: RoutingCookies | undefined;
}

export interface RowsOptions extends RepeatOptions {
  readonly transport: Transport;
  readonly profile: string;
  readonly counts: Counts;
}

const noCells: readonly ReadCell[] = [];

/**
 * Reads rows from Bigtable. Each read uses a separate stream. If a stream breaks before its first
 * row, the read is repeated, up to the limits of `RepeatOptions`.
 */
export class Rows {
  readonly #options: RowsOptions;

  constructor(options: RowsOptions) {
    this.#options = options;
  }

  /**
   * Reads one row. `done` gets the row's cells, or the error. This is the short path for the most
   * frequent request. If the first attempt fails, the general path retries.
   */
  readOne(
    table: KnownTable,
    key: Uint8Array,
    filter: EncodedFilter,
    signal: AbortSignal | undefined,
    done: (error: unknown, cells: readonly ReadCell[]) => void,
  ): void {
    const { transport, profile, environment, deadlineMs, counts } = this.#options;
    const began = environment.monotonic();
    let cells = noCells;
    const assembler = new RowAssembler((row) => {
      cells = row.cells;
    });
    const request = { tableName: table.path, appProfileId: profile, rows: { rowKeys: [key] } };
    const call = { metadata: table.metadata, deadlineMs, signal };
    counts.reads++;
    counts.rows++;
    transport.listen(
      readRows,
      { request, filter },
      call,
      (answer) => {
        assembler.push(answer);
        return true;
      },
      (error) => {
        if (error === null && assembler.openKey === undefined) done(null, cells);
        else if (signal?.aborted) done(abortError(signal, "A read"), noCells);
        else if (error !== null && !mayPass(error)) done(failed(error, table), noCells);
        else this.#readAgain({ table, rows: { rowKeys: [key] }, filter, signal }, began, error, done);
      },
    );
  }

  #readAgain(
    request: RowsRequest,
    began: number,
    failure: unknown,
    done: (error: unknown, cells: readonly ReadCell[]) => void,
  ): void {
    let cells = noCells;
    const take = (row: ReadRow) => {
      cells = row.cells;
      return true;
    };
    const reading = this.#readSince(began, request, take, failure);
    reading.then(
      () => done(null, cells),
      (error: unknown) => done(error, noCells),
    );
  }

  /** Passes each row to `take` until it returns false. */
  read(request: RowsRequest, take: (row: ReadRow) => boolean): Promise<RowsEnd> {
    return this.#readSince(this.#options.environment.monotonic(), request, take);
  }

  /**
   * `failure` is the outcome of a first attempt: an error, or null if its stream ended within a
   * row.
   */
  async #readSince(
    began: number,
    request: RowsRequest,
    take: (row: ReadRow) => boolean,
    failure?: unknown,
  ): Promise<RowsEnd> {
    // Without keys and ranges Bigtable would read the whole table.
    const { rowKeys, rowRanges } = request.rows;
    if ((rowKeys?.length ?? 0) + (rowRanges?.length ?? 0) === 0) {
      return { how: "complete", lastKey: undefined, openKey: undefined };
    }
    const { counts } = this.#options;
    const attempts = new Attempts(this.#options, began, request.cookies);
    const again = async (error: unknown) => {
      if (!(await attempts.again(error, request.signal, "A read"))) throw failed(error, request.table);
    };
    if (failure !== undefined) {
      if (failure !== null) await again(failure);
      counts.repeated++;
    }
    for (;;) {
      counts.reads++;
      const end = await this.#attempt(request, take, attempts);
      if ("how" in end) return end;
      await again(end.error);
      counts.repeated++;
    }
  }

  async #attempt(
    request: RowsRequest,
    take: (row: ReadRow) => boolean,
    attempts: Attempts,
  ): Promise<RowsEnd | { readonly error: unknown }> {
    /** The key of the row after which the caller wanted no more. Its message may have more rows. */
    let enough: Uint8Array | undefined;
    const assembler = new RowAssembler((row) => {
      this.#options.counts.rows++;
      if (enough === undefined && !take(row)) enough = row.key;
    }, request.reversed);
    const { transport, profile } = this.#options;
    const { table, filter, limit, signal, rowBytes = Number.POSITIVE_INFINITY } = request;
    const message = {
      tableName: table.path,
      appProfileId: profile,
      rows: request.rows,
      rowsLimit: limit === undefined ? undefined : int64(limit),
      reversed: request.reversed,
    };
    const wide = () => assembler.openBytes > rowBytes;
    const end = (how: RowsEnd["how"]) => ({ how, lastKey: assembler.lastKey, openKey: assembler.openKey });
    try {
      await transport.stream(
        readRows,
        { request: message, filter },
        { ...attempts.call(table.metadata), signal },
        (answer) => {
          assembler.push(answer);
          return enough === undefined && !wide();
        },
      );
    } catch (error) {
      if (signal?.aborted) throw abortError(signal, "A read");
      if (codeOf(error) === undefined) throw error;
      if (!mayPass(error) || !hasCome(assembler.lastKey, request.rows)) return { error };
      await attempts.hold(error, signal);
      return { ...end("cut"), cookies: attempts.cookies };
    }
    if (enough !== undefined) return { ...end("enough"), lastKey: enough };
    if (wide()) return end("wide");
    assembler.end();
    return end("complete");
  }
}

/** Whether a read that came to `lastKey` has passed one of its rows, so that the next one asks for less. */
function hasCome(lastKey: Uint8Array | undefined, { rowKeys = [] }: RowSet): lastKey is Uint8Array {
  if (lastKey === undefined) return false;
  return rowKeys.length === 0 || rowKeys.some((key) => Buffer.compare(key, lastKey) <= 0);
}

function failed(error: unknown, table: KnownTable): Error {
  return storeError(error, `read table ${JSON.stringify(table.name)}`);
}
