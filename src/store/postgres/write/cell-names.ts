import { byteString } from "../../bytes.js";

/** The most columns whose text is kept. */
const maxColumns = 1_000;

/**
 * Names of cells, to compare them. Transactions name few columns, mostly with the same arrays, so
 * the text of a column is kept.
 */
export class CellNames {
  #columns = new Map<Uint8Array, string>();

  /** The beginning of the names of a row's cells. No row's is the beginning of another's. */
  row(table: number, row: Uint8Array): string {
    return `${table} ${row.length} ${byteString(row)}`;
  }

  /** The name of a cell. `row` comes from {@link row}. */
  cell(row: string, column: Uint8Array): string {
    let text = this.#columns.get(column);
    if (text === undefined) {
      if (this.#columns.size >= maxColumns) this.#columns.clear();
      text = byteString(column);
      this.#columns.set(column, text);
    }
    return row + text;
  }
}
