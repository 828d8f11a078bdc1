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

/** Every change, once. One that comes again has a sequence that is there. */
const insertChanges = `
  insert into order_changes (number, sequence, change)
  select * from unnest($1::text[], $2::bigint[], $3::jsonb[])
  on conflict (number, sequence) do nothing`;

/** The newest state. An earlier one that comes again does not replace a later one. */
const updateOrders = `
  insert into orders (number, sequence, state)
  select * from unnest($1::text[], $2::bigint[], $3::jsonb[])
  on conflict (number) do update set sequence = excluded.sequence, state = excluded.state
  where excluded.sequence > orders.sequence`;

/** Makes the receiver's tables if they are not there. */
export async function createTables(pool: Pool): Promise<void> {
  await pool.query(tables);
}

/**
 * Delivers to PostgreSQL, all entries in one transaction of two statements. When it has committed,
 * they are safe there; when it has and the answer was lost, they come again and change nothing.
 */
export function deliverToPostgres(pool: Pool): Deliver<unknown> {
  return async (entries, { signal }) => {
    const client = await pool.connect();
    // A transaction may be open in a connection that failed, or was given up: it is closed, and
    // with it the transaction.
    const release = once((error?: Error) => client.release(error));
    const giveUp = () => release(new Error("The delivery was given up."));
    signal.addEventListener("abort", giveUp, { once: true });
    // Said of a connection that breaks, beside the rejection of what was asked of it.
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
 * The entry of each key with the highest sequence, wherever it stands: one statement cannot change
 * a row twice.
 */
export function newest(entries: readonly ExportEntry<unknown>[]): Iterable<ExportEntry<unknown>> {
  const found = new Map<string, ExportEntry<unknown>>();
  for (const entry of entries) {
    if (entry.sequence > (found.get(entry.key)?.sequence ?? 0)) found.set(entry.key, entry);
  }
  return found.values();
}
