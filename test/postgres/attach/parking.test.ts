import { date, int, observer, table, text, tuple } from "percolatordb";
import { attach, attachedTables, attachTables, detachTable } from "percolatordb/postgres";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { openAlone } from "../../support/databases.js";
import { placeAt, storeAt } from "../../support/postgres/index.js";
import { rowsOf, Shop, sums } from "./shop.js";

let shop: Shop;

beforeEach(async () => {
  shop = await Shop.create();
  await shop.sql("create table T.people (id int primary key, name text)");
});

afterEach(() => shop[Symbol.asyncDispose]());

const lengths = table("lengths", { length: int() }, { key: tuple(int()) });

function declare() {
  const people = attach(`${shop.schema}.people`, { key: tuple(int()), columns: { name: text() } });
  const measure = observer("measure", people.name, (tx, { row, value }) =>
    tx.set(lengths.length, row, value?.length ?? 0),
  );
  const { orders, add } = shop.declare();
  return { people, orders, options: { observers: [measure, add], tables: [people, lengths, orders, sums] } };
}

type Step = readonly [what: string, statement: string, error: RegExp, mend: string];

const steps: readonly Step[] = [
  [
    "a dropped column",
    "alter table T.orders drop customer",
    /has no column "customer" any more/,
    "alter table T.orders add customer text",
  ],
  [
    "a renamed column",
    "alter table T.orders rename customer to client",
    /has no column "customer" any more/,
    "alter table T.orders rename client to customer",
  ],
  [
    "a column dropped and added again",
    "alter table T.orders drop customer; alter table T.orders add customer text",
    /column "customer": it was dropped and added again/,
    "select 1",
  ],
  [
    "a retyped column",
    "alter table T.orders alter total type text using 'many'",
    /column "total": its type was double precision and is now text/,
    "alter table T.orders alter total type float8 using 5",
  ],
  ["missing triggers", `drop trigger "!percolatordb update" on T.orders`, /missing or disabled/, "select 1"],
  [
    "a table that became unlogged",
    "alter table T.orders set unlogged",
    /orders" is unlogged: a crash of the server empties it/,
    "alter table T.orders set logged",
  ],
  [
    "disabled triggers",
    "alter table T.orders disable trigger all",
    /missing or disabled/,
    "alter table T.orders enable trigger all",
  ],
];

describe("parks one table, and the other goes on", () => {
  test.each(steps)("%s", async (_, statement, error, mend) => {
    const { people, orders, options } = declare();
    await shop.sql("insert into T.orders values (1, 'a', 1)");
    await using db = await openAlone(await storeAt(shop.place), options);
    await attachTables(db, [people, orders]);
    await shop.expectEqual(db, orders);
    await shop.sql(statement);
    await shop.sql("insert into T.people values (1, 'four'); insert into T.orders (id) values (2)");
    await expect(db.drain()).rejects.toMatchObject({ code: "SCHEMA", message: expect.stringMatching(error) });
    // The other table was moved, and its observer has run, in the call that rejected or a later one.
    await expect(db.drain()).rejects.toThrow(/is parked since \d{4}-.*attach it again/);
    expect(await db.transact((tx) => tx.get(lengths.length, [1]))).toBe(4);
    const [, status] = await attachedTables(db, [people, orders]);
    expect(status).toMatchObject({
      name: "orders",
      pending: 0,
      parked: { error: expect.stringMatching(error) },
    });
    // The outbox does not grow while a table is parked.
    await shop.sql("insert into T.orders (id) values (3), (4)");
    await db.drain().catch(() => undefined);
    expect(await shop.pending()).toBe(0);
    await shop.sql(mend);
    await attachTables(db, [orders]);
    await shop.expectEqual(db, orders);
    await shop.sql("update T.orders set total = 7 where id = 2");
    await shop.expectEqual(db, orders);
    expect(
      (await attachedTables(db, [people, orders])).every(
        ({ parked, problems }) => parked === undefined && problems.length === 0,
      ),
    ).toBe(true);
  });
});

test("a value that does not fit its codec parks its table, also if it shares an SQL transaction with another", async () => {
  await shop.sql("create table T.big (id int primary key, n bigint)");
  const { people, options } = declare();
  const big = attach(`${shop.schema}.big`, { key: tuple(int()), columns: { n: int() } });
  await using db = await openAlone(await storeAt(shop.place), {
    ...options,
    tables: [people, lengths, big],
    observers: [options.observers[0]!],
  });
  await attachTables(db, [people, big]);
  await db.drain();
  await shop.sql(
    "begin; insert into T.big values (1, 1), (2, 9007199254740993); insert into T.people values (1, 'x'); commit",
  );
  await expect(db.drain()).rejects.toThrow(
    /A row of .*big" does not fit its declaration: big\.n, row \[2\]: .*, not 9007199254740993/,
  );
  expect(await db.transact((tx) => tx.get(lengths.length, [1]))).toBe(1);
  expect(await rowsOf(db, big)).toEqual([]);
  await shop.sql("update T.big set n = 2 where id = 2");
  await attachTables(db, [big]);
  await db.drain();
  expect(await rowsOf(db, big)).toEqual([
    [1, { n: 1 }],
    [2, { n: 2 }],
  ]);
});

test.each([
  ["5", "'infinity'", /dates\.at, row \[5\]: "infinity" is not a date of JavaScript/],
  ["9007199254740993", "'2024-01-01'", /key column id: .*, not 9007199254740993/],
])("what does not fit is named with its place: %s, %s", async (id, at, error) => {
  await shop.sql("create table T.dates (id bigint primary key, at timestamptz)");
  const dates = attach(`${shop.schema}.dates`, { key: tuple(int()), columns: { at: date() } });
  await using db = await openAlone(await storeAt(shop.place), { tables: [dates] });
  await attachTables(db, [dates]);
  await shop.sql(`insert into T.dates values (1, now()), (${id}, ${at})`);
  await expect(db.drain()).rejects.toThrow(error);
});

test("a worker reports a parked table once, and goes on with the others", async () => {
  const { people, orders, options } = declare();
  await using db = await openAlone(await storeAt(shop.place), options);
  await attachTables(db, [people, orders]);
  await db.drain();
  const reported: string[] = [];
  db.on("backgroundFailure", ({ error }) => reported.push(String((error as Error).message)));
  await using _worker = db.work();
  await shop.sql("alter table T.orders drop customer");
  await expect.poll(() => reported.length).toBeGreaterThan(0);
  for (const id of [1, 2, 3]) {
    await shop.sql("insert into T.people values ($1, 'name')", [id]);
    await expect.poll(() => db.transact((tx) => tx.get(lengths.length, [id]))).toBe(4);
  }
  expect(reported.filter((message) => message.includes("is parked"))).toEqual([
    expect.stringMatching(/is parked since \d{4}-/),
  ]);
});

test("a role that may not read the SQL table parks it, and writers go on", async () => {
  const { people, orders, options } = declare();
  await using db = await openAlone(await storeAt(shop.place), options);
  await attachTables(db, [people, orders]);
  await using role = await shop.createRole();
  await shop.sql(`grant usage on schema T to ${role.name}; grant select on T.people to ${role.name}`);
  await using lowly = await openAlone(role.location, { ...options, create: false });
  await shop.sql("insert into T.people values (1, 'four'); insert into T.orders values (1, 'a', 1)");
  await expect(lowly.drain()).rejects.toThrow(/orders" cannot be read: .*permission denied for table orders/);
  expect(await db.transact((tx) => tx.get(lengths.length, [1]))).toBe(4);
  await shop.sql(`grant select on T.orders to ${role.name}`);
  await attachTables(db, [orders]);
  await lowly.drain();
  await shop.expectEqual(db, orders);
});

test("the privileges that the page lists are enough for a worker to move, copy and park", async () => {
  const { people, orders, options } = declare();
  await shop.sql("insert into T.people values (1, 'four'); insert into T.orders values (1, 'a', 1)");
  await using db = await openAlone(await storeAt(shop.place), options);
  await attachTables(db, [people, orders]);
  const name = `mover_${process.pid}`;
  const list = (query: string) => query.split("; ").map((each) => `${each} to ${name}`);
  // docs/postgres.md and docs/attached-tables.md list these.
  const grants = list(
    "grant usage on schema P; grant select, insert, update, delete on P.cells, P.writers; grant select, insert on P.tables; " +
      "grant select, update on P.state, P.durable, P.woken; " +
      "grant usage on schema T; grant select on T.people, T.orders; grant select, update on P.attachments; grant select, delete on P.outbox",
  );
  await shop.sql(`create role ${name} login; ${grants.join("; ")}`);
  try {
    const place = placeAt(shop.place.host, shop.place.schema, name);
    await using lowly = await openAlone(place.location, { ...options, create: false });
    await lowly.drain();
    await shop.sql(
      "update T.people set name = 'five5'; insert into T.orders values (2, 'b', 2); delete from T.orders where id = 1",
    );
    await shop.expectEqual(lowly, orders);
    expect(await lowly.transact((tx) => tx.get(lengths.length, [1]))).toBe(5);
    await shop.sql("alter table T.orders drop total");
    await expect(lowly.drain()).rejects.toThrow(/no column "total"/);
    expect(await attachedTables(db)).toContainEqual(
      expect.objectContaining({ name: "orders", parked: expect.anything() }),
    );
    expect((await lowly.status()).statistics).toMatchObject({ failures: 0 });
  } finally {
    await shop.sql(`drop owned by ${name}; drop role ${name}`);
  }
});

test("row-level security that hides rows parks the table instead of deleting them", async () => {
  const { people, orders, options } = declare();
  await shop.sql("insert into T.orders values (1, 'a', 1)");
  await using db = await openAlone(await storeAt(shop.place), options);
  await attachTables(db, [people, orders]);
  await shop.expectEqual(db, orders);
  await using role = await shop.createRole();
  await shop.sql(`grant usage on schema T to ${role.name}; grant select on all tables in schema T to ${role.name};
    alter table T.orders enable row level security`);
  await using lowly = await openAlone(role.location, { ...options, create: false });
  await attachTables(db, [orders]);
  await expect(lowly.drain()).rejects.toThrow(/Row-level security hides rows of .*orders"/);
  expect(await rowsOf(db, orders)).toEqual([[1, { customer: "a", total: 1 }]]);
});

test("the tables that the first version made are extended", async () => {
  const { people, orders, options } = declare();
  await using db = await openAlone(await storeAt(shop.place), options);
  await attachTables(db, [people, orders]);
  await shop.sql("insert into T.orders values (1, 'a', 1)");
  await db.drain();
  await shop.sql(`alter table P.attachments drop generation, drop since, drop parked_at, drop error;
    alter table P.outbox drop at; drop index P.outbox_xid_seq; create index outbox_xid on P.outbox (xid);
    update P.attachments set definition = (definition::jsonb - 'columns' - 'shape')::text`);
  await shop.sql("insert into T.orders values (2, 'b', 2)");
  await attachTables(db, [people, orders]);
  await shop.expectEqual(db, orders);
  await shop.sql("update T.orders set total = 3");
  await shop.expectEqual(db, orders);
});

test("changes from before a table was attached do not count as pending", async () => {
  const { orders, options } = declare();
  await using db = await openAlone(await storeAt(shop.place), options);
  await attachTables(db, [orders]);
  await shop.sql("insert into T.orders values (1, 'a', 1)");
  // What attaching would have purged, if it was not killed before.
  await shop.sql(`update P.attachments set since = (select max(seq) from P.outbox)`);
  expect(await attachedTables(db, [orders])).toMatchObject([{ pending: 0, oldestPending: undefined }]);
  await shop.sql("insert into T.orders values (2, 'b', 2)");
  expect(await attachedTables(db, [orders])).toMatchObject([{ pending: 1 }]);
});

test("a table that was dropped is detached by its name", async () => {
  const { people, orders, options } = declare();
  await using db = await openAlone(await storeAt(shop.place), options);
  await attachTables(db, [people, orders]);
  await shop.sql("drop table T.orders");
  await expect(db.drain()).rejects.toThrow(/There is no table .*orders" any more/);
  await detachTable(db, `${shop.schema}.orders`);
  await expect(detachTable(db, `${shop.schema}.orders`)).rejects.toThrow(
    /is not attached.*Attached: .*people/,
  );
  await expect(db.drain()).rejects.toThrow(/orders" is not attached/);
  await shop.sql("insert into T.people values (1, 'four')");
  await db.drain().catch(() => undefined);
  expect(await db.transact((tx) => tx.get(lengths.length, [1]))).toBe(4);
});

test("a row that fits into a transaction only without the mover's note parks its table", async () => {
  const { orders } = shop.declare();
  const transactionBytes = 16 * 1024;
  await using db = await openAlone(await storeAt(shop.place), { tables: [orders], transactionBytes });
  await attachTables(db, [orders]);
  await db.drain();
  // The note takes more than 50 bytes, so one of the steps meets such a row.
  let parked: unknown;
  for (let length = 15_800; length <= transactionBytes && parked === undefined; length += 50) {
    await shop.sql("insert into T.orders values ($1, repeat('x', $1), 1)", [length]);
    await db.drain().catch((error: unknown) => {
      parked = error;
    });
  }
  expect(String(parked)).toContain(`A row of "${shop.schema}"."orders"`);
});
