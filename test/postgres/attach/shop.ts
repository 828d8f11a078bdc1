import { type AnyTable, type Database, float, int, observer, table, text, tuple } from "percolatordb";
import { attach } from "percolatordb/postgres";
import { Pool } from "pg";
import { expect } from "vitest";
import { newPlace, type PostgresPlace, placeAt, removePlace } from "../../support/postgres/index.js";

let shops = 0;
let roles = 0;

/** A role that a test has created. */
export interface ShopRole extends AsyncDisposable {
  readonly name: string;
  /** The database's location, for this role. */
  readonly location: string;
}

/** The sum of all totals, and the count of the observer's runs. */
export const sums = table("sums", { total: float(), runs: int() });

/** An SQL schema with a table `orders`, and a place for the database that follows it. */
export class Shop implements AsyncDisposable {
  readonly place: PostgresPlace;
  readonly pool: Pool;
  readonly schema: string;
  readonly #isOwn: boolean;

  constructor(place: PostgresPlace, schema: string, isOwn = false) {
    this.place = place;
    this.pool = new Pool({ connectionString: place.location, max: 8 });
    // The errors of connections that end with their server. Failed queries reject anyway.
    this.pool.on("error", () => undefined);
    this.schema = schema;
    this.#isOwn = isOwn;
  }

  /** A new schema on the server that all tests share. */
  static async create(): Promise<Shop> {
    const shop = new Shop(await newPlace(), `shop_${process.pid}_${++shops}`);
    await shop.createOrders();
    return shop;
  }

  /** A new schema on a server of the test's own. */
  static async at(place: PostgresPlace): Promise<Shop> {
    const shop = new Shop(place, "shop", true);
    await shop.createOrders();
    return shop;
  }

  async createOrders(): Promise<void> {
    await this.sql(
      `create schema ${this.schema}; create table T.orders (id int primary key, customer text, total float8)`,
    );
  }

  /** Runs SQL. `T.` stands for the schema of the tables, `P.` for that of the database. */
  async sql(query: string, values?: readonly unknown[]): Promise<readonly Record<string, unknown>[]> {
    const result = await this.pool.query(this.text(query), values as unknown[] | undefined);
    return (Array.isArray(result) ? result.at(-1) : result).rows;
  }

  text(query: string): string {
    return query
      .replaceAll(/\bT\b(?=\.|;| to | from |$)/g, this.schema)
      .replaceAll(/\bP\b(?=\.|;| to | from |$)/g, () => `"${this.place.schema.replaceAll('"', '""')}"`);
  }

  /** A role with the privileges of a program on the database, and none on the SQL tables. */
  async createRole(): Promise<ShopRole> {
    const name = `role_${process.pid}_${++roles}`;
    await this.sql(`create role ${name} login; grant usage on schema P to ${name};
      grant all on all tables in schema P to ${name}; grant all on all sequences in schema P to ${name}`);
    return {
      name,
      location: placeAt(this.place.host, this.place.schema, name).location,
      [Symbol.asyncDispose]: async () => {
        await this.sql(`drop owned by ${name}; drop role ${name}`);
      },
    };
  }

  /** The declaration of `orders`, and an observer that sums its totals. */
  declare() {
    const orders = attach(`${this.schema}.orders`, {
      key: tuple(int()),
      columns: { customer: text(), total: float() },
    });
    const add = observer("add", orders.total, async (tx, { value, previous }) => {
      const sum = (await tx.get(sums.total, "all")) ?? 0;
      tx.set(sums.total, "all", sum + (value ?? 0) - (previous ?? 0));
      tx.set(sums.runs, "all", ((await tx.get(sums.runs, "all")) ?? 0) + 1);
    });
    return { orders, add };
  }

  /** Moves and handles all changes. Expects that our rows and the sum equal SQL's. */
  async expectEqual(db: Database, orders: ReturnType<Shop["declare"]>["orders"]): Promise<void> {
    await db.drain();
    await this.expectSame(db, orders);
  }

  async expectSame(db: Database, orders: ReturnType<Shop["declare"]>["orders"]): Promise<void> {
    const rows = await this.sql("select id, customer, total from T.orders order by id");
    const expected = rows
      .map(({ id, customer, total }) => [
        id,
        { ...(customer === null ? {} : { customer }), ...(total === null ? {} : { total }) },
      ])
      .filter(([, value]) => Object.keys(value as object).length > 0);
    expect(await rowsOf(db, orders)).toEqual(expected);
    const sum = rows.reduce((all, { total }) => all + ((total as number | null) ?? 0), 0);
    expect((await db.transact((tx) => tx.get(sums.total, "all"))) ?? 0).toBe(sum);
    expect(await this.pending()).toBe(0);
  }

  /** Count of the changes that no process has moved. */
  async pending(): Promise<number> {
    return Number((await this.sql("select count(*) from P.outbox"))[0]!.count);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#isOwn) await this.sql(`drop schema ${this.schema} cascade`);
    await this.pool.end();
    if (!this.#isOwn) await removePlace(this.place);
  }
}

/** The rows of a table with a key of one part. */
export async function rowsOf(db: Database, table: AnyTable): Promise<unknown[]> {
  await using snapshot = await db.snapshot();
  const found: unknown[] = [];
  for await (const { row, value } of snapshot.scan(table as ReturnType<Shop["declare"]>["orders"])) {
    found.push([row[0], value]);
  }
  return found;
}
