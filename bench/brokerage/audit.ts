import type { Database, Snapshot } from "percolatordb";
import { accountOf, actOf, brokerOf, firstCash, firstPrice, securityOf, sizes } from "./market.js";
import { accounts, commission, commissions, holdings, parseOrder, securities, trades } from "./tables.js";

/**
 * The expected contents after a number of transactions, by row. Values that depend on market prices
 * are computed from the trades.
 */
interface Books {
  /** The order of each trade, by account and number. */
  readonly orders: Map<string, string>;
  readonly cash: Map<string, number>;
  readonly held: Map<string, number>;
  readonly paid: Map<string, number>;
  /** Undefined: any price is accepted. */
  readonly prices: ReadonlyMap<string, number | undefined>;
}

/**
 * Returns the errors in all accounts after all transactions with numbers below `acted`, or an empty
 * list. The expected orders are computed again from the numbers, so that a lost order is detected.
 */
export async function audit(db: Database, acted: number): Promise<readonly string[]> {
  const books = open(acted);
  await using view = await db.snapshot();
  const wrong = await auditTrades(view, books);
  wrong.push(
    ...(await auditTable("Account", view.scan(accounts.cash), books.cash)),
    ...(await auditTable("Holding", view.scan(holdings.quantity), books.held)),
    ...(await auditTable("Broker", view.scan(commissions.values), books.paid)),
    ...(await auditTable("Security", view.scan(securities.price), books.prices)),
  );
  return wrong;
}

/** The books before any settlement. */
function open(acted: number): Books {
  const orders = new Map<string, string>();
  const feeds: (readonly (readonly [security: string, by: number])[])[] = [];
  for (let number = 0; number < acted; number++) {
    const act = actOf(number);
    if (act.action === "order") orders.set(act.row.join(" "), act.order);
    else if (act.action === "feed") feeds.push(act.changes);
  }
  const cash = new Map(
    Array.from({ length: sizes.accounts }, (_, index) => [accountOf(index), firstCash] as const),
  );
  return { orders, cash, held: new Map(), paid: new Map(), prices: pricesAfter(feeds) };
}

/**
 * Returns the expected prices. If a feed names a security twice, the last change counts. A price
 * depends on the order of the feeds only if it may have reached the minimum. Any price of such a
 * security is accepted, but no measurement has enough feeds to reach the minimum.
 */
function pricesAfter(
  feeds: readonly (readonly (readonly [security: string, by: number])[])[],
): ReadonlyMap<string, number | undefined> {
  const prices = new Map<string, number | undefined>();
  const least = new Map<string, number>();
  for (let index = 0; index < sizes.securities; index++) {
    prices.set(securityOf(index), firstPrice(index));
    least.set(securityOf(index), firstPrice(index));
  }
  for (const feed of feeds) {
    for (const [security, by] of new Map(feed)) {
      prices.set(security, prices.get(security)! + by);
      least.set(security, least.get(security)! + Math.min(0, by));
    }
  }
  for (const [security, price] of least) if (price < 1) prices.set(security, undefined);
  return prices;
}

/** Adds the settled trades to the books. */
async function auditTrades(view: Snapshot, { orders, cash, held, paid }: Books): Promise<string[]> {
  const wrong: string[] = [];
  const missing = new Set(orders.keys());
  const add = (to: Map<string, number>, key: string, by: number) => to.set(key, (to.get(key) ?? 0) + by);
  for await (const { row, value } of view.scan(trades)) {
    const [account] = row;
    const trade = row.join(" ");
    missing.delete(trade);
    if (value.order === undefined || value.order !== orders.get(trade))
      wrong.push(`The order of trade ${trade} is ${value.order}, not ${orders.get(trade)}.`);
    else if (value.settled === undefined) wrong.push(`The trade ${trade} was not settled.`);
    else {
      const [security, quantity] = parseOrder(value.order);
      add(cash, account, -value.settled * quantity - commission);
      add(held, `${account} ${security}`, quantity);
      add(paid, brokerOf(Number(account.slice(1))), commission);
    }
  }
  for (const trade of missing) wrong.push(`The trade ${trade} is missing: ${orders.get(trade)}.`);
  return wrong;
}

/** Compares each row, and reports missing rows. */
async function auditTable(
  what: string,
  rows: AsyncIterable<{ readonly row: string | readonly string[]; readonly value: number }>,
  expected: ReadonlyMap<string, number | undefined>,
): Promise<readonly string[]> {
  const wrong: string[] = [];
  const missing = new Set(expected.keys());
  for await (const { row, value } of rows) {
    const key = typeof row === "string" ? row : row.join(" ");
    const wanted = missing.delete(key) ? (expected.get(key) ?? value) : undefined;
    if (value !== wanted) wrong.push(`${what} ${key} has ${value}, not ${wanted ?? "anything"}.`);
  }
  for (const key of missing) wrong.push(`${what} ${key} is missing.`);
  return wrong;
}
