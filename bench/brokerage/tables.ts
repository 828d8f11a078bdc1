import { int, observer, table, text, tuple } from "percolatordb";
import { combineQueue } from "percolatordb/recipes";

/**
 * Modelled on TPC-E: customers' accounts, their holdings, and their trades through brokers at
 * market prices. All amounts are in cents.
 */
export const accounts = table("accounts", { broker: text(), cash: int() });
export const holdings = table("holdings", { quantity: int() }, { key: tuple(text(), text()) });
export const securities = table("securities", { price: int(), volume: int() });
export const trades = table(
  "trades",
  {
    /** The request: the security and the quantity, which is negative to sell. */
    order: text(),
    /** The result: the price of one security. */
    settled: int(),
  },
  { key: tuple(text(), text()) },
);

/**
 * The commission of each trade, for its broker. One broker has a tenth of all accounts, so its row
 * is hot. That is why a combine queue adds the commissions.
 */
export const commission = 100;
export const commissions = combineQueue("commissions", {
  value: int(),
  update: int(),
  combine: (sum = 0, updates) => updates.reduce((total, each) => total + each, sum),
});

export const orderOf = (security: string, quantity: number): string => `${security} ${quantity}`;
export function parseOrder(order: string): readonly [security: string, quantity: number] {
  const [security, quantity] = order.split(" ") as [string, string];
  return [security, Number(quantity)];
}

/** Settles an order: changes the account's cash and holdings, and the broker's commission. */
export const settle = observer("settle", trades.order, async (tx, { row, value }) => {
  if (value === undefined) return;
  const [account] = row;
  const [security, quantity] = parseOrder(value);
  const holding = [account, security] as const;
  const [price = 0, cash = 0, broker = "", held = 0] = await Promise.all([
    tx.get(securities.price, security),
    tx.get(accounts.cash, account),
    tx.get(accounts.broker, account),
    tx.get(holdings.quantity, holding),
  ]);
  tx.set(trades.settled, row, price);
  tx.set(accounts.cash, account, cash - price * quantity - commission);
  tx.set(holdings.quantity, holding, held + quantity);
  commissions.add(tx, broker, commission);
});

export const tables = [accounts, holdings, securities, trades, ...commissions.tables];
export const observers = [settle, commissions.observer];
