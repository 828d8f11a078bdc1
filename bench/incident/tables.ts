import { int, json, observer, table, text, tuple } from "percolatordb";
import { combiningCounter } from "percolatordb/recipes";

/** A shop on a bad day: the tables and observers of `npm run incident`. */

export interface Order {
  readonly customer: string;
  readonly items: readonly { readonly sku: string; readonly count: number }[];
  readonly cents: number;
}

export const orders = table(
  "orders",
  { placed: json<Order>(), cents: int(), approved: text(), receipt: text() },
  { key: tuple(text(), int()) },
);
export const totals = table("totals", { cents: int(), visits: int() });
/** What customers have not ordered yet. It expires. */
export const carts = table("carts", { sku: text() }, { ttlMs: 30_000 });
export const soldItems = combiningCounter("sold_items");

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));
const quick = { attempts: 2, backoff: { initialMs: 20, maximumMs: 50 } };

/** Keeps up with the orders. */
const price = observer("price", orders.placed, (tx, { row, value }) => {
  if (value !== undefined) tx.set(orders.cents, row, value.cents);
});

/** Fails for a third of the orders, with one message that has differing ids in it. */
const approve = observer(
  "approve",
  orders.placed,
  (tx, { row, value }) => {
    const [city, number] = row;
    if (number % 3 === 0) {
      const request = (number * 2_654_435_761).toString(16).padStart(12, "0");
      throw new RangeError(
        `Order ${number} of "${city}" was refused by the credit service (request ${request}, ${value?.cents ?? 0} cents)`,
      );
    }
    tx.set(orders.approved, row, "yes");
  },
  quick,
);

/** Falls behind: each run waits as for a slow service, and few run at the same time. */
const receipts = observer(
  "receipts",
  orders.placed,
  async (tx, { row, value }) => {
    await pause(150);
    tx.set(orders.receipt, row, `Receipt for ${value?.customer ?? "nobody"}`);
  },
  { concurrency: 4 },
);

/** Conflicts: all runs add to the same few rows. */
const sums = observer("sums", orders.cents, async (tx, { row: [city], value = 0, previous = 0 }) => {
  const before = (await tx.get(totals.cents, city)) ?? 0;
  await pause(2);
  tx.set(totals.cents, city, before + value - previous);
});

/** Has parked changes, fails and falls behind, all at the same time. */
const notify = observer(
  "notify",
  orders.approved,
  async (_, { row: [city, number] }) => {
    await pause(400);
    if (number % 2 === 0)
      throw new Error(`connect ECONNREFUSED 10.0.0.${number % 250}:${25_000 + (number % 999)} for ${city}`);
  },
  { ...quick, concurrency: 2 },
);

/** Fails for a quarter of the receipts, and waits long before each further attempt: none is parked. */
const mail = observer(
  "mail",
  orders.receipt,
  (_, { row: [, number] }) => {
    if (number % 4 === 0) throw new Error(`451 Mailbox ${number} is busy, try again later`);
  },
  { backoff: { initialMs: 20_000, maximumMs: 120_000 } },
);

export const tables = [orders, totals, carts, ...soldItems.tables];
export const observers = [price, approve, receipts, sums, notify, mail, soldItems.observer];
