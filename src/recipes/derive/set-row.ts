import type { Column, Transaction } from "../../index.js";
import { takeValue } from "../taken-value.js";
import { bytesOf, propertyOf } from "../view.js";
import type { AnyRow } from "./source.js";

/**
 * Sets the columns of a derived row. Writes only those whose values differ, so that observers of
 * the derived table see changes only. A column without a value is deleted.
 */
export async function setRow(
  tx: Transaction,
  columns: readonly Column<unknown, unknown>[],
  row: unknown,
  values: AnyRow,
): Promise<void> {
  const before = await Promise.all(columns.map((column) => tx.get(column, row)));
  for (const [index, column] of columns.entries()) {
    const value = values[propertyOf(column)];
    const previous = before[index];
    if (value === undefined) {
      if (previous !== undefined) tx.delete(column, row);
      continue;
    }
    const bytes = takeValue(tx, column, row, value);
    if (previous === undefined || Buffer.compare(column.codec.encode(previous), bytes) !== 0) {
      tx.set(bytesOf(column), row, bytes);
    }
  }
}
