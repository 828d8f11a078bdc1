/** The observers of a small shop, as its user wrote them in the first week. */
import { observer, text } from "percolatordb";
import { derive } from "percolatordb/recipes";
import { orders, receipts } from "./tables.js";

const receipt = observer("receipt", orders.sale, (tx, { row, value }) => {
  if (value === undefined) tx.delete(receipts.text, row);
  else tx.set(receipts.text, row, `${value.item}: ${value.cents} ct`);
});

const note = observer("note", orders.note, (tx, { row, value }) => {
  if (value === undefined) tx.delete(receipts.noteLength, row);
  else tx.set(receipts.noteLength, row, value.length);
});

const revenue = derive("revenue", {
  from: orders,
  reads: ["sale"],
  key: [text()],
  groupBy: (order) => [order.sale?.item],
  count: true,
  sum: (order) => order.sale?.cents,
});

// biome-ignore lint/style/noDefaultExport: what the command line takes
export default { tables: [orders, receipts], observers: [receipt, note], derivations: [revenue] };
