/** The tables of a small shop, as its user declared them in the first week. */
import { int, json, type Transaction, table, text } from "percolatordb";

interface Sale {
  readonly item: string;
  readonly cents: number;
}

export const orders = table("orders", { serial: int(), sale: json<Sale>(), note: text(), legacy: int() });
export const receipts = table("receipts", { text: text(), noteLength: int() });

/** Writes an order, or cancels what it says. */
export function write(tx: Transaction, row: string, serial: number): void {
  tx.set(orders.serial, row, serial);
  if (serial % 7 === 6) {
    tx.delete(orders.sale, row);
    tx.delete(orders.note, row);
    tx.delete(orders.legacy, row);
    return;
  }
  tx.set(orders.sale, row, { item: `item ${serial % 5}`, cents: serial });
  tx.set(orders.note, row, "x".repeat(serial % 9));
  tx.set(orders.legacy, row, serial);
}
