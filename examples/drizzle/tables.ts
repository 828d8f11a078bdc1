import { date, float, int, observer, table, text } from "percolatordb";

/** Payments, as a program writes them. */
export const payments = table("payments", { customer: text(), amount: float() });

/** Derived: what each customer has paid. */
export const totals = table("totals", { total: float(), payments: int(), changed: date() });

/** Keeps the totals up to date. */
export const sum = observer("sum", payments.amount, async (tx, { row, value = 0, previous = 0 }) => {
  const customer = await tx.get(payments.customer, row);
  if (customer === undefined) return;
  tx.set(totals.total, customer, ((await tx.get(totals.total, customer)) ?? 0) + value - previous);
  tx.set(totals.payments, customer, ((await tx.get(totals.payments, customer)) ?? 0) + 1);
  tx.set(totals.changed, customer, new Date());
});
