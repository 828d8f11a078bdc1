import type { Column, Transaction } from "../index.js";

/**
 * Returns the encoded value at the moment of a call. A recipe that reads before it writes keeps
 * these bytes, because the program may change the object in the meantime.
 *
 * @throws InvalidValueError, with table, row and column, if the column refuses the value.
 */
export function takeValue<V, K>(tx: Transaction, column: Column<V, K>, row: K, value: V): Uint8Array {
  try {
    return column.codec.encode(value);
  } catch (error) {
    // This call throws too, and its error names the cell.
    tx.set(column, row, value);
    throw error;
  }
}
