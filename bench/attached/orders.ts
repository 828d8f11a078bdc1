import { float, int, observer, table, tuple } from "../../src/index.js";
import { attach } from "../../src/postgres/index.js";

/** The SQL schema of the orders. */
export const schema = `
create schema shop;
create table shop.orders (id int primary key, customer int not null, total float8 not null, note text);`;

/** Revenue by customer: the derived table. */
export const customers = table("customers", { revenue: float() }, { key: tuple(int()) });
/** Each order as it was counted, so that a changed customer is taken from the old one. */
const counted = table("counted", { customer: int(), total: float() }, { key: tuple(int()) });

/** The orders, their observers, and all tables. `copyRest` as `attach` takes it. */
export function declare(copyRest: number | undefined) {
  const orders = attach("shop.orders", {
    key: tuple(int()),
    columns: { customer: int(), total: float() },
    copyRest,
  });
  async function count(
    tx: Parameters<Parameters<typeof observer>[2]>[0],
    row: readonly [number],
  ): Promise<void> {
    const [customer, total, oldCustomer, oldTotal] = await Promise.all([
      tx.get(orders.customer, row),
      tx.get(orders.total, row),
      tx.get(counted.customer, row),
      tx.get(counted.total, row),
    ]);
    if (oldCustomer !== undefined) {
      const before = (await tx.get(customers.revenue, [oldCustomer])) ?? 0;
      tx.set(customers.revenue, [oldCustomer], before - (oldTotal ?? 0));
    }
    if (customer === undefined || total === undefined) {
      await tx.deleteRow(counted, row);
      return;
    }
    const before = (await tx.get(customers.revenue, [customer])) ?? 0;
    tx.set(customers.revenue, [customer], before + total);
    tx.set(counted.customer, row, customer);
    tx.set(counted.total, row, total);
  }

  const observers = [
    observer("byTotal", orders.total, (tx, { row }) => count(tx, row)),
    observer("byCustomer", orders.customer, (tx, { row }) => count(tx, row)),
  ];
  return { orders, observers, tables: [orders, customers, counted] };
}
