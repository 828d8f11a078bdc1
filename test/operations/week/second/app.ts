/** The observers of the shop in the second week: receipts have another text, and `note` is gone. */
import { observer, text } from "percolatordb";
import { derive } from "percolatordb/recipes";
import { orders, receipts, type Sale } from "./tables.js";

export const total = ({ price, quantity }: Sale) => price * quantity;
export const receiptOf = (sale: Sale) => `${sale.quantity} x ${sale.item}: ${total(sale)} ct`;

const receipt = observer(
  "receipt",
  orders.sale,
  (tx, { row, value }) => {
    if (value === undefined) tx.delete(receipts.text, row);
    else tx.set(receipts.text, row, receiptOf(value));
  },
  { version: 2 },
);

export const revenue = derive("revenue", {
  from: orders,
  reads: ["sale"],
  key: [text()],
  groupBy: (order) => [order.sale?.item],
  count: true,
  sum: (order) => order.sale && total(order.sale),
});

// biome-ignore lint/style/noDefaultExport: what the command line takes
export default { tables: [orders, receipts], observers: [receipt], derivations: [revenue] };
