/** What the storm does: each action is the inside of one SQL transaction. */
import type { PoolClient } from "pg";
import type { Random } from "./random.js";
import { CopyIn } from "./sql.js";

export interface Action {
  readonly name: string;
  readonly run: (client: PoolClient, random: Random) => Promise<unknown>;
}

type Table = "customers" | "products" | "orders";

/** The number of a random row. A row may be deleted by another connection before it is used. */
async function anyId(client: PoolClient, random: Random, table: Table): Promise<number> {
  const { rows } = await client.query(
    `select id from shop.${table}
     where id >= (select min(id) + ((max(id) - min(id)) * $1::float8)::int from shop.${table}) order by id limit 1`,
    [random.below(1_000) / 1_000],
  );
  return rows[0]?.id ?? 0;
}

/** A number that no row has, unless two connections choose the same one. */
async function newId(client: PoolClient, random: Random, table: Table): Promise<number> {
  const { rows } = await client.query(`select coalesce(max(id), 0)::int as id from shop.${table}`);
  return rows[0].id + 1 + random.below(100);
}

const addLine = `
  insert into shop.order_lines (order_id, line_no, product_id, quantity, price_cents)
  select $1, coalesce(max(line_no), 0) + 1, $2, $3, $4 from shop.order_lines where order_id = $1`;

async function placeOrder(client: PoolClient, random: Random): Promise<number> {
  const id = await newId(client, random, "orders");
  const day = `2024-${String(1 + random.below(12)).padStart(2, "0")}-15`;
  const customer = await anyId(client, random, "customers");
  await client.query("insert into shop.orders (id, customer_id, ordered_on) values ($1, $2, $3)", [
    id,
    customer,
    day,
  ]);
  for (let n = random.below(4); n > 0; n--) {
    const product = await anyId(client, random, "products");
    const quantity = 1 + random.below(5);
    await client.query(addLine, [id, product, quantity, 100 + random.below(9_900)]);
    await client.query("update shop.products set stock = stock - $2 where id = $1", [product, quantity]);
  }
  return id;
}

const onOrder =
  (statement: string): Action["run"] =>
  async (client, random) =>
    client.query(statement, [await anyId(client, random, "orders")]);

const onProduct =
  (statement: string): Action["run"] =>
  async (client, random) =>
    client.query(statement, [await anyId(client, random, "products"), random.below(60)]);

export const actions: readonly Action[] = [
  { name: "order placed", run: placeOrder },
  { name: "order placed again", run: placeOrder },
  {
    name: "order's status changed",
    run: async (client, random) =>
      client.query("update shop.orders set status = $2 where id = $1", [
        await anyId(client, random, "orders"),
        random.choose(["open", "paid", "sent", "cancelled"]),
      ]),
  },
  {
    name: "order moved to another customer and day",
    run: async (client, random) =>
      client.query("update shop.orders set customer_id = $2, ordered_on = ordered_on + 1 where id = $1", [
        await anyId(client, random, "orders"),
        await anyId(client, random, "customers"),
      ]),
  },
  { name: "note that no observer watches", run: onOrder("update shop.orders set note = 'x' where id = $1") },
  {
    name: "quantities changed",
    run: onOrder("update shop.order_lines set quantity = quantity % 7 + 1 where order_id = $1"),
  },
  {
    name: "line deleted",
    run: onOrder("delete from shop.order_lines where order_id = $1 and line_no = 1"),
  },
  { name: "order deleted with its lines", run: onOrder("delete from shop.orders where id = $1") },
  {
    name: "order deleted and inserted again",
    run: async (client, random) => {
      const id = await anyId(client, random, "orders");
      const { rows } = await client.query(
        "delete from shop.orders where id = $1 returning customer_id, ordered_on::text",
        [id],
      );
      for (const row of rows) {
        await client.query(
          "insert into shop.orders (id, customer_id, ordered_on, status) values ($1, $2, $3, 'paid')",
          [id, row.customer_id, row.ordered_on],
        );
      }
    },
  },
  {
    name: "primary key of an order changed",
    run: async (client, random) =>
      client.query("update shop.orders set id = $2 where id = $1", [
        await anyId(client, random, "orders"),
        await newId(client, random, "orders"),
      ]),
  },
  {
    name: "primary keys of lines changed",
    run: onOrder("update shop.order_lines set line_no = line_no + 10 where order_id = $1"),
  },
  {
    name: "savepoint rolled back",
    run: async (client, random) => {
      await client.query("savepoint before_order");
      const id = await placeOrder(client, random);
      await client.query("savepoint before_bulk");
      await client.query("update shop.order_lines set price_cents = 1 where order_id = $1", [id]);
      await client.query("rollback to savepoint before_bulk");
      if (random.below(2) === 0) await client.query("rollback to savepoint before_order");
      await client.query("update shop.products set stock = stock + 1 where id = $1", [
        await anyId(client, random, "products"),
      ]);
    },
  },
  {
    name: "transaction rolled back",
    run: async (client, random) => {
      await placeOrder(client, random);
      await client.query("delete from shop.discontinued");
      // What follows is a new transaction.
      await client.query("rollback");
      await client.query("begin");
    },
  },
  {
    name: "bulk update of prices",
    run: onProduct("update shop.order_lines set price_cents = price_cents + $2 where product_id = $1"),
  },
  {
    name: "bulk update of a month's orders",
    run: async (client, random) =>
      client.query(
        `update shop.orders set status = case status when 'paid' then 'sent' else 'paid' end::shop.order_status
         where extract(month from ordered_on) = $1 and id % 7 = $2`,
        [1 + random.below(12), random.below(7)],
      ),
  },
  {
    name: "customers merged",
    run: async (client, random) => {
      const [kept, gone] = [
        await anyId(client, random, "customers"),
        await anyId(client, random, "customers"),
      ];
      if (kept === gone) return;
      await client.query("update shop.orders set customer_id = $1 where customer_id = $2", [kept, gone]);
      await client.query("delete from shop.customers where id = $1", [gone]);
    },
  },
  {
    name: "customer renamed",
    run: async (client, random) =>
      client.query("update shop.customers set name = $2 where id = $1", [
        await anyId(client, random, "customers"),
        `${random.choose(["Ann", "Zoë", "Max"])} ${random.choose(["Miller", "Ng", "O'Neil"])}`,
      ]),
  },
  {
    name: "customers copied (COPY)",
    run: async (client, random) => {
      const first = await newId(client, random, "customers");
      const rows = Array.from({ length: 5 }, (_, n) => [
        first + n,
        `Copied ${random.choose(["Lund", "Ortiz"])}`,
        `c${first + n}-${random.below(1e9)}@example.org`,
        "\\N",
      ]);
      const copy = new CopyIn("copy shop.customers (id, name, email, city) from stdin", rows);
      client.query(copy);
      await copy.done;
    },
  },
  {
    name: "customer inserted, or updated (ON CONFLICT)",
    run: async (client, random) =>
      client.query(
        `insert into shop.customers (id, name, email) values ($1, 'Upserted Person', $2)
         on conflict (email) do update set name = 'Upserted Again', city = 'Quito'`,
        [await newId(client, random, "customers"), `customer${1 + random.below(40)}@example.org`],
      ),
  },
  {
    name: "discontinued products replaced (TRUNCATE)",
    run: async (client, random) => {
      await client.query("truncate shop.discontinued");
      await client.query(
        "insert into shop.discontinued (product_id) select id from shop.products where id % 20 = $1",
        [random.below(20)],
      );
    },
  },
  {
    name: "stock and reorder level changed",
    run: onProduct(
      "update shop.products set stock = $2, reorder_level = case when id % 3 = 0 then null else 30 end where id = $1",
    ),
  },
  {
    name: "product inserted and an old one deleted",
    run: async (client, random) => {
      const id = await newId(client, random, "products");
      await client.query("insert into shop.products values ($1, 'Novelty', 500, 3, 10)", [id]);
      await client.query(
        `delete from shop.products p where id = (
           select id from shop.products c where name = 'Novelty' and id <> $1
           and not exists (select from shop.order_lines where product_id = c.id) limit 1)`,
        [id],
      );
    },
  },
  {
    name: "slow transaction",
    run: async (client, random) => {
      const id = await placeOrder(client, random);
      await client.query("select pg_sleep(0.2)");
      await client.query("update shop.orders set status = 'paid' where id = $1", [id]);
    },
  },
];
