/** The SQL side of the shop: its tables, their first contents, and what purchasing is told. */
import { readFile } from "node:fs/promises";
import type { Deliver } from "percolatordb/recipes";
import { type Connection, Pool, type PoolClient, type Submittable } from "pg";
import type { StockAlert } from "./observers.js";

/** Connections to the database that a location names. `pg` ignores the location's `schema`. */
export function connect(location: string, max: number): Pool {
  const pool = new Pool({ connectionString: location, max });
  // The pool replaces an idle connection that breaks.
  pool.on("error", () => undefined);
  return pool;
}

const script = (name: string) => readFile(new URL(`sql/${name}.sql`, import.meta.url), "utf8");

/** Makes and fills the shop's tables, unless they exist. Resolves to whether it did. */
export async function createShop(pool: Pool, orders: number): Promise<boolean> {
  const { rows } = await pool.query("select to_regnamespace('shop') is not null as exists");
  if (rows[0].exists === true) return false;
  await transact(pool, async (client) => {
    await client.query(await script("shop"));
    await client.query("select set_config('shop.orders', $1, true)", [orders]);
    await client.query(await script("seed"));
  });
  return true;
}

/** Runs statements in a transaction, which is rolled back if `run` throws. */
export async function transact<T>(pool: Pool, run: (client: PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  try {
    await client.query("begin");
    const result = await run(client);
    await client.query("commit");
    client.release();
    return result;
  } catch (error) {
    // Closing the connection rolls back, whatever state it is in.
    client.release(true);
    throw error;
  }
}

const insertAlerts = `
  insert into shop.stock_alerts (product_id, sequence, is_low)
  select * from unnest($1::int[], $2::bigint[], $3::boolean[]) on conflict do nothing`;

/**
 * Tells purchasing, which here is a table. An alert that arrives again has a sequence that exists, so
 * each takes effect once. It would be the same with an e-mail service that takes an idempotency key.
 */
export function tellPurchasing(pool: Pool): Deliver<StockAlert, readonly [id: number]> {
  return async (entries) => {
    await pool.query(insertAlerts, [
      entries.map(({ key: [id] }) => id),
      entries.map(({ sequence }) => sequence),
      entries.map(({ value }) => value.isLow),
    ]);
  };
}

/** Sends rows by `COPY ... from stdin`. Give it to `client.query`, and await {@link done}. */
export class CopyIn implements Submittable {
  readonly done: Promise<void>;
  readonly #statement: string;
  readonly #rows: string;
  #settle!: (error?: Error) => void;

  constructor(statement: string, rows: readonly (readonly unknown[])[]) {
    this.#statement = statement;
    this.#rows = rows.map((row) => `${row.join("\t")}\n`).join("");
    this.done = new Promise((resolve, reject) => {
      this.#settle = (error) => (error === undefined ? resolve() : reject(error));
    });
  }

  submit(connection: Connection): void {
    connection.query(this.#statement);
  }

  handleCopyInResponse(connection: Connection & CopyConnection): void {
    connection.sendCopyFromChunk(Buffer.from(this.#rows));
    connection.endCopyFrom();
  }

  handleCommandComplete(): void {}

  handleReadyForQuery(): void {
    this.#settle();
  }

  handleError(error: Error): void {
    this.#settle(error);
  }
}

/** What a connection of `pg` can do besides its declared types. */
interface CopyConnection {
  sendCopyFromChunk(chunk: Buffer): void;
  endCopyFrom(): void;
}
