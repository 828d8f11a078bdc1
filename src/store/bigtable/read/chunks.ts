import { StoreError } from "../../../errors/index.js";
import { compareBytes, equalBytes } from "../../bytes.js";
import type { Part } from "../../cell.js";
import type { ReadRowsResponse, ReadRowsResponseCellChunk } from "../protos/codec.js";
import { decodeTimestamp } from "./timestamps.js";

/** One version of a cell, as Bigtable returns it. */
export interface ReadCell {
  readonly part: Part;
  readonly column: Uint8Array;
  readonly timestamp: number;
  readonly value: Uint8Array;
}

/**
 * One row as Bigtable returns it: family by family, the columns of a family in ascending order, and
 * the versions of a column from the newest to the oldest.
 */
export interface ReadRow {
  readonly key: Uint8Array;
  readonly cells: readonly ReadCell[];
}

const noBytes = new Uint8Array(0);

/**
 * Assembles rows from the chunks of a `ReadRows` stream. A value may span several chunks, and a row
 * may span several messages. The service may also discard a row and send it again. Throws a
 * `StoreError` for an answer that breaks these rules.
 */
export class RowAssembler {
  /**
   * The key up to which the answer is complete: the key of the last row, or a key up to which the
   * service found no more rows.
   */
  lastKey: Uint8Array | undefined;
  /** Bytes of the row in progress. */
  openBytes = 0;
  readonly #reversed: boolean;
  readonly #onRow: (row: ReadRow) => void;
  #key: Uint8Array | undefined;
  #cells: ReadCell[] = [];
  #part: Part | undefined;
  #column: Uint8Array = noBytes;
  #timestamp = 0;
  /** The received pieces of a divided value. */
  #pieces: Uint8Array[] | undefined;

  constructor(onRow: (row: ReadRow) => void, reversed = false) {
    this.#onRow = onRow;
    this.#reversed = reversed;
  }

  /** The key of the row in progress. */
  get openKey(): Uint8Array | undefined {
    return this.#key;
  }

  push(response: ReadRowsResponse): void {
    for (const chunk of response.chunks ?? []) this.#take(chunk);
    const scanned = response.lastScannedRowKey;
    if (scanned === undefined || scanned.length === 0) return;
    if (this.#key !== undefined) throw impossible("reported its position within a row");
    this.#follow(scanned);
    this.lastKey = scanned;
  }

  /** Must be called when the stream has ended without an error. */
  end(): void {
    if (this.#key !== undefined) throw impossible("ended within a row");
  }

  #take(chunk: ReadRowsResponseCellChunk): void {
    if (chunk.resetRow) {
      this.#reset(chunk);
      return;
    }
    if (this.#pieces !== undefined) this.#goOn(chunk);
    else this.#begin(chunk);
    const value = chunk.value ?? noBytes;
    this.openBytes += value.length;
    if ((chunk.valueSize ?? 0) > 0) {
      if (chunk.commitRow) throw impossible("ended a row within a value");
      this.#pieces ??= [];
      this.#pieces.push(value);
      return;
    }
    this.#cells.push({
      part: this.#part!,
      column: this.#column,
      timestamp: this.#timestamp,
      value: this.#whole(value),
    });
    if (chunk.commitRow) this.#commit();
  }

  #begin(chunk: ReadRowsResponseCellChunk): void {
    const { rowKey, familyName, qualifier } = chunk;
    const named = rowKey !== undefined && rowKey.length > 0;
    if (this.#key === undefined) {
      if (!named || familyName === undefined || qualifier === undefined) {
        throw impossible("began a row without its key, family or column");
      }
      this.#follow(rowKey);
      this.#key = rowKey;
    } else if (named && !equalBytes(rowKey, this.#key)) {
      throw impossible("began a row before the last one was complete");
    }
    if (familyName !== undefined) {
      if (qualifier === undefined) throw impossible("began a family without a column");
      this.#part = familyName as Part;
    }
    if (qualifier !== undefined) this.#column = qualifier;
    this.#timestamp = chunk.timestampMicros === undefined ? 0 : decodeTimestamp(chunk.timestampMicros);
    this.openBytes += this.#column.length;
  }

  /** Checks a chunk that continues a divided value. It may contain nothing else. */
  #goOn({ rowKey, familyName, qualifier, timestampMicros }: ReadRowsResponseCellChunk): void {
    const named = rowKey !== undefined && rowKey.length > 0;
    const timed = timestampMicros !== undefined && (timestampMicros.low !== 0 || timestampMicros.high !== 0);
    if (named || familyName !== undefined || qualifier !== undefined || timed) {
      throw impossible("began a cell within a value");
    }
  }

  #whole(last: Uint8Array): Uint8Array {
    if (this.#pieces === undefined) return last;
    const value = Buffer.concat([...this.#pieces, last]);
    this.#pieces = undefined;
    return value;
  }

  #reset(chunk: ReadRowsResponseCellChunk): void {
    if (this.#key === undefined) throw impossible("reset a row that it had not begun");
    const { rowKey, familyName, qualifier, value } = chunk;
    const more = (rowKey?.length ?? 0) > 0 || familyName !== undefined || qualifier !== undefined;
    if (more || (value?.length ?? 0) > 0) throw impossible("reset a row and sent more of it");
    this.#clear();
  }

  #commit(): void {
    const key = this.#key!;
    const cells = this.#cells;
    this.lastKey = key;
    this.#clear();
    this.#onRow({ key, cells });
  }

  #clear(): void {
    this.#key = undefined;
    this.#cells = [];
    this.#part = undefined;
    this.#column = noBytes;
    this.#pieces = undefined;
    this.openBytes = 0;
  }

  #follow(key: Uint8Array): void {
    if (this.lastKey === undefined) return;
    const order = compareBytes(key, this.lastKey);
    if (this.#reversed ? order >= 0 : order <= 0) throw impossible("sent rows out of order");
  }
}

function impossible(what: string): StoreError {
  return new StoreError(`Bigtable's answer to a read is not valid: it ${what}. Read again.`);
}
