/** The receiver: PostgreSQL. */

import type { Deliver, ExportEntry } from "percolatordb/recipes";
import type { Pool } from "pg";

const tables = `
  create table if not exists order_changes (
    number text not null,
    sequence bigint not null,
    change jsonb not null,
    primary key (number, sequence)
  );
  create table if not exists orders (
    number text primary key,
    sequence bigint not null,
    state jsonb not null
  )`;

/** Inserts every change once. A repeated change has a sequence that already exists. */
const insertChanges = `
  insert into order_changes (number, sequence, change)
  select * from unnest($1::text[], $2::bigint[], $3::jsonb[])
  on conflict (number, sequence) do nothing`;

/** Updates the newest state. A repeated earlier change does not replace a later one. */
const updateOrders = `
  insert into orders (number, sequence, state)
  select * from unnest($1::text[], $2::bigint[], $3::jsonb[])
  on conflict (number) do update set sequence = excluded.sequence, state = excluded.state
  where excluded.sequence > orders.sequence`;

/** Creates the receiver's tables if they do not exist. */
export async function createTables(pool: Pool): Promise<void> {
  await pool.query(tables);
}

/**
 * Delivers all entries to PostgreSQL in one transaction of two statements. If the transaction has
 * committed but its answer was lost, the queue delivers the entries again, and they change nothing.
 */
export function deliverToPostgres(pool: Pool): Deliver<unknown> {
  return async (entries, { signal }) => {
    const client = await pool.connect();
    // If the connection failed or the delivery was aborted, a transaction may still be open.
    // Closing the connection ends it.
    const release = once((error?: Error) => client.release(error));
    const giveUp = () => release(new Error("The delivery was given up."));
    signal.addEventListener("abort", giveUp, { once: true });
    // If the connection breaks, the client emits this error and also rejects its queries.
    client.on("error", release);
    try {
      signal.throwIfAborted();
      await client.query("begin");
      await client.query(insertChanges, columns(entries));
      await client.query(updateOrders, columns(newest(entries)));
      await client.query("commit");
      client.off("error", release);
      release();
    } catch (error) {
      release(error as Error);
      throw error;
    } finally {
      signal.removeEventListener("abort", giveUp);
    }
  };
}

function once<A extends readonly unknown[]>(run: (...given: A) => void): (...given: A) => void {
  let isDone = false;
  return (...given) => {
    if (!isDone) run(...given);
    isDone = true;
  };
}

function columns(entries: Iterable<ExportEntry<unknown>>): [string[], number[], string[]] {
  const list = [...entries];
  return [
    list.map(({ key }) => key),
    list.map(({ sequence }) => sequence),
    list.map(({ value }) => JSON.stringify(value)),
  ];
}

/**
 * Returns the entry of each key with the highest sequence, because one statement cannot change a
 * row twice.
 */
export function newest(entries: readonly ExportEntry<unknown>[]): Iterable<ExportEntry<unknown>> {
  const found = new Map<string, ExportEntry<unknown>>();
  for (const entry of entries) {
    if (entry.sequence > (found.get(entry.key)?.sequence ?? 0)) found.set(entry.key, entry);
  }
  return found.values();
}
