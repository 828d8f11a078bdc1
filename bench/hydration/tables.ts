import { int, type Observer, observer, table, tuple } from "percolatordb";

/**
 * Orders of customers, and the derived table: each customer's total. An order's key begins with its
 * customer.
 */
export const orders = table("orders", { amount: int() }, { key: tuple(int(), int()) });
export const customers = table("customers", { total: int() }, { key: tuple(int()) });

/** Returns the observer that keeps the totals. `onCommit` is called at each of its commits. */
export function totalsOf(onCommit: () => void = () => undefined): Observer {
  return observer("totals", orders.amount, async (tx, { row: [customer], value, previous }) => {
    const total = (await tx.get(customers.total, [customer])) ?? 0;
    tx.set(customers.total, [customer], total + (value ?? 0) - (previous ?? 0));
    tx.onCommit(onCommit);
  });
}

export interface Shape {
  /** Orders whose totals are derived before the measurement. */
  readonly rows: number;
  /** Orders that wait for the observer. */
  readonly waiting: number;
}

const ordersOfCustomer = 10;

/** The number of customers. Each has ten orders. */
export const customersOf = ({ rows }: Shape) => Math.ceil(rows / ordersOfCustomer);

export interface Order {
  readonly customer: number;
  readonly number: number;
  readonly amount: number;
}

/** The order with an index below `rows`. Consecutive indexes are neighbours in the table. */
export function orderOf(index: number): Order {
  return {
    customer: Math.floor(index / ordersOfCustomer),
    number: index % ordersOfCustomer,
    amount: 1 + ((index * 7_919) % 1_000),
  };
}

/** A prime above the number of customers of ten billion orders. */
const stride = 1_000_000_007;

/**
 * The waiting order with an index below `waiting`. Consecutive ones belong to customers that are
 * far apart.
 */
export function waitingOf(index: number, shape: Shape): Order {
  const customer = Number((BigInt(index) * BigInt(stride)) % BigInt(customersOf(shape)));
  return { customer, number: ordersOfCustomer + index, amount: 1 + ((index * 104_729) % 1_000) };
}
