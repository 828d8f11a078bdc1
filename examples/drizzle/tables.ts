import { float, table, text } from "percolatordb";
import { derive } from "percolatordb/recipes";

/** Payments, as a program writes them. */
export const payments = table("payments", { customer: text(), amount: float() });

/** How many payments each customer has made, and their sum. Also after corrections and deletions. */
export const totals = derive("totals", {
  from: payments,
  key: [text()],
  groupBy: ({ customer }) => [customer],
  count: true,
  sum: ({ amount }) => amount,
});
