/** What SQL says of each table: the attached ones first, because the others are derived from them. */
import type { Snapshot } from "percolatordb";
import type { PoolClient } from "pg";
import {
  counted,
  customers,
  customersByToken,
  customerTotals,
  discontinued,
  lowStock,
  orderLines,
  orders,
  products,
  revenue,
} from "./tables.js";
import { tokensOf } from "./tokens.js";
import type { Comparison, Row } from "./verify.js";

const query =
  (text: string) =>
  async (client: PoolClient): Promise<readonly Row[]> =>
    (await client.query<unknown[]>({ text, rowMode: "array" })).rows;

const low = `
  from shop.products p
  where stock < reorder_level and not exists (select from shop.discontinued where product_id = p.id)`;

export const comparisons: readonly Comparison[] = [
  {
    table: "customers",
    keys: 1,
    expected: query("select id, name, city from shop.customers"),
    async *found(view) {
      for await (const { row, value } of view.scan(customers)) yield [...row, value.name, value.city ?? null];
    },
  },
  {
    table: "products",
    keys: 1,
    expected: query("select id, name, stock, reorder_level from shop.products"),
    async *found(view) {
      for await (const { row, value } of view.scan(products)) {
        yield [...row, value.name, value.stock, value.reorder_level ?? null];
      }
    },
  },
  {
    table: "orders",
    keys: 1,
    expected: query("select id, customer_id, status::text, ordered_on::text from shop.orders"),
    async *found(view) {
      for await (const { row, value } of view.scan(orders)) {
        yield [...row, value.customer_id, value.status, value.ordered_on];
      }
    },
  },
  {
    table: "order_lines",
    keys: 2,
    expected: query("select order_id, line_no, quantity * price_cents from shop.order_lines"),
    async *found(view) {
      for await (const { row, value } of view.scan(orderLines.amount_cents)) yield [...row, value];
    },
  },
  {
    table: "discontinued",
    keys: 1,
    expected: query("select product_id, since::text from shop.discontinued"),
    async *found(view) {
      for await (const { row, value } of view.scan(discontinued.since)) yield [...row, value];
    },
  },
  {
    table: "counted_orders",
    keys: 1,
    expected: query(`
      select o.id, customer_id, ordered_on::text, coalesce(sum(quantity * price_cents), 0)::float8
      from shop.orders o left join shop.order_lines on order_id = o.id
      where status <> 'cancelled' group by o.id`),
    async *found(view) {
      for await (const { row, value } of view.scan(counted)) {
        yield [...row, value.customer, value.day, value.cents];
      }
    },
  },
  {
    table: "customer_totals",
    keys: 1,
    expected: query(`
      select customer_id, count(distinct o.id)::int, coalesce(sum(quantity * price_cents), 0)::float8
      from shop.orders o left join shop.order_lines on order_id = o.id
      where status <> 'cancelled' group by customer_id`),
    async *found(view) {
      for await (const { row, value } of view.scan(customerTotals)) yield [...row, value.orders, value.cents];
    },
  },
  {
    // A counter of 0 does not exist.
    table: "revenue",
    keys: 1,
    expected: query(`
      select ordered_on::text, sum(quantity * price_cents)::float8
      from shop.orders o join shop.order_lines on order_id = o.id
      where status <> 'cancelled' group by ordered_on having sum(quantity * price_cents) <> 0`),
    async *found(view) {
      for await (const { row, value } of view.scan(revenue.values)) yield [row, value];
    },
  },
  {
    table: "low_stock",
    keys: 1,
    expected: query(`select id, stock, reorder_level - stock ${low}`),
    async *found(view) {
      for await (const { row, value } of view.scan(lowStock)) yield [...row, value.stock, value.missing];
    },
  },
  {
    // Each alert once and in order: a stock is low and not low in turns, and the last one says what is so.
    table: "stock_alerts",
    keys: 1,
    expected: query(`select id, true, true ${low}`),
    async *found(_view: Snapshot, client: PoolClient) {
      yield* await query(`
        select product_id, bool_and(is_low <> before), true
        from (
          select *, lag(is_low, 1, false) over (partition by product_id order by sequence) as before
          from shop.stock_alerts
        ) as alerts
        group by product_id
        having (array_agg(is_low order by sequence desc))[1] or not bool_and(is_low <> before)`)(client);
    },
  },
  {
    table: "customers_by_token",
    keys: 2,
    async expected(client) {
      const names = await query("select id, name from shop.customers")(client);
      return names.flatMap(([id, name]) => tokensOf(name as string).map((token) => [token, id]));
    },
    async *found(view) {
      for await (const { by, row } of customersByToken.range(view)) yield [by, row[0]];
    },
  },
];
