// The raw side imports the store's transport, because both sides must use the same one.
import { randomUUID } from "node:crypto";
import { credentials } from "@grpc/grpc-js";
import { systemEnvironment } from "../../src/environment/index.js";
import { parseLocation } from "../../src/store/bigtable/location.js";
import type { RowFilter } from "../../src/store/bigtable/protos/codec.js";
import { viewFilter } from "../../src/store/bigtable/read/filter.js";
import { encodeTimestamp } from "../../src/store/bigtable/read/timestamps.js";
import { type KnownTable, Tables } from "../../src/store/bigtable/table/tables.js";
import { checkAndMutateRow, encodeFilter, readRows } from "../../src/store/bigtable/wire/rpc.js";
import { Transport } from "../../src/store/bigtable/wire/transport.js";

const deadlineMs = 10_000;

/**
 * A table used directly: with the transport, layout and filters of the store, but without the
 * protocol.
 */
export class RawBigtable {
  readonly #transport: Transport;
  readonly #table: KnownTable;

  private constructor(transport: Transport, table: KnownTable) {
    this.#transport = transport;
    this.#table = table;
  }

  /** Creates a new table of a database, or opens an existing one. */
  static async open(host: string, place: string, table: string = randomUUID()): Promise<RawBigtable> {
    const transport = new Transport({
      address: host,
      credentials: credentials.createInsecure(),
      connections: 1,
    });
    const location = parseLocation(place);
    const times = { environment: systemEnvironment, deadlineMs, retryForMs: deadlineMs };
    const tables = new Tables({ location, admin: transport, emulator: true, create: true, ...times });
    return new RawBigtable(transport, await tables.need(table));
  }

  /** The table's name in requests. */
  get path(): string {
    return this.#table.path;
  }

  /**
   * Puts `value` into the cell at a timestamp if the cell has no lock, no later write and no status
   * record. This is the condition of a prewrite.
   */
  async mutate(row: Buffer, column: Buffer, timestamp: number, value: Buffer): Promise<boolean> {
    const request = mutationRequest(this.path, row, column, timestamp, value);
    const options = { metadata: this.#table.metadata, deadlineMs };
    const { predicateMatched } = await this.#transport.unary(checkAndMutateRow, request, options);
    return predicateMatched !== true;
  }

  /** Reads the value of the cell's newest write record at or below `at`, by the store's filter. */
  async read(row: Buffer, column: Buffer, at: number): Promise<Uint8Array | undefined> {
    let value: Uint8Array | undefined;
    const filter = encodeFilter(readFilter(column, at));
    const request = readRequest(this.path, row);
    const options = { metadata: this.#table.metadata, deadlineMs };
    await this.#transport.stream(readRows, { request, filter }, options, ({ chunks }) => {
      for (const chunk of chunks ?? []) if (chunk.familyName === "write") value = chunk.value;
      return true;
    });
    return value;
  }

  close(): void {
    this.#transport.close();
  }
}

/** A conditional mutation of one cell, with a prewrite's condition. */
export function mutationRequest(
  tableName: string,
  row: Buffer,
  column: Buffer,
  timestamp: number,
  value: Buffer,
) {
  const timestampMicros = encodeTimestamp(timestamp);
  return {
    tableName,
    appProfileId: "default",
    rowKey: row,
    predicateFilter: condition(column, timestamp),
    falseMutations: [{ setCell: { familyName: "write", columnQualifier: column, timestampMicros, value } }],
  };
}

/** A read of one row. The caller adds the filter. */
export function readRequest(tableName: string, row: Buffer) {
  return { tableName, appProfileId: "default", rows: { rowKeys: [row] } };
}

/** The store's filter for one column. */
export function readFilter(column: Buffer, at: number): RowFilter {
  return viewFilter([{ exact: column }], at, undefined);
}

function condition(column: Buffer, timestamp: number): RowFilter {
  const exact = (familyName: string): RowFilter => ({
    columnRangeFilter: { familyName, startQualifierClosed: column, endQualifierClosed: column },
  });
  const start = encodeTimestamp(timestamp);
  const after = (filter: RowFilter, end?: ReturnType<typeof encodeTimestamp>): RowFilter => ({
    chain: {
      filters: [filter, { timestampRangeFilter: { startTimestampMicros: start, endTimestampMicros: end } }],
    },
  });
  const filters = [exact("lock"), after(exact("write")), after(exact("txn"), encodeTimestamp(timestamp + 1))];
  return { chain: { filters: [{ interleave: { filters } }, { cellsPerRowLimitFilter: 1 }] } };
}
