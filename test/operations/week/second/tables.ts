/**
 * The tables of the shop in the second week: a sale has another shape, `note` has another name in the
 * program, and `legacy` and `noteLength` are gone.
 */
import { int, json, storedAs, type Transaction, table, text } from "percolatordb";

export interface Sale {
  readonly item: string;
  readonly price: number;
  readonly quantity: number;
}

export const orders = table("orders", {
  serial: int(),
  sale: json<Sale>(undefined, {
    version: 2,
    upgrade: {
      1: (old: { item: string; cents: number }): Sale => ({ item: old.item, price: old.cents, quantity: 1 }),
    },
  }),
  comment: storedAs("note", text()),
});
export const receipts = table("receipts", { text: text() });

/** Writes an order, or cancels what it says. */
export function write(tx: Transaction, row: string, serial: number): void {
  tx.set(orders.serial, row, serial);
  if (serial % 7 === 6) {
    tx.delete(orders.sale, row);
    tx.delete(orders.comment, row);
    return;
  }
  tx.set(orders.sale, row, { item: `item ${serial % 5}`, price: serial, quantity: 2 });
  tx.set(orders.comment, row, "x".repeat(serial % 9));
}
