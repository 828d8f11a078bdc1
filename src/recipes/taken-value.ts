import type { Column, Transaction } from "../index.js";

/**
 * The bytes of a value at the moment of a call. A recipe that reads before it writes keeps these: the caller, or a function of the
 * program that is given the value, may change the object meanwhile.
 *
 * @throws InvalidValueError, with table, row and column, if the column refuses the value.
 */
export function takeValue<V, K>(tx: Transaction, column: Column<V, K>, row: K, value: V): Uint8Array {
  try {
    return column.codec.encode(value);
  } catch (error) {
    // Refuses it too, and names the cell.
    tx.set(column, row, value);
    throw error;
  }
}
