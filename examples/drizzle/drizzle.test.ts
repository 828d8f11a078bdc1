import { open } from "percolatordb";
import { postgresViews } from "percolatordb/postgres";
import { Pool } from "pg";
import { expect, test } from "vitest";
import { startPostgres } from "../support/postgres-server.js";
import { best, totalOf, totalsOf } from "./drizzle.js";
import * as derived from "./tables.js";

test("Drizzle reads a derived table, and joins it with an SQL table", async () => {
  const server = await startPostgres({ settings: ["fsync=off"] });
  const pool = new Pool({ host: server.host, user: server.user, database: "postgres", max: 2 });
  try {
    await pool.query("create table customers (id text primary key, name text not null)");
    await pool.query("insert into customers values ('a1', 'Ada'), ('a2', 'Alan'), ('b1', 'Barbara')");
    const { payments, totals } = derived;
    const location = `postgres://${server.user}@/postgres?${new URLSearchParams({ host: server.host })}`;
    await using db = await open(location, { tables: [payments], derivations: [totals] });
    await postgresViews(db, [totals.table], { keys: { totals: ["customer"] } });
    await db.transact((tx) => {
      for (const [i, [customer, amount]] of [
        ["a1", 10],
        ["a2", 7],
        ["a1", 5],
        ["b1", 20],
      ].entries()) {
        tx.set(payments.customer, `p${i}`, customer as string);
        tx.set(payments.amount, `p${i}`, amount as number);
      }
    });
    await db.drain();
    expect(await best(pool, 2)).toEqual([
      { name: "Barbara", total: 20, payments: 1 },
      { name: "Ada", total: 15, payments: 2 },
    ]);
    expect(await totalOf(pool, "a2")).toEqual({ customer: "a2", total: 7, payments: 1 });
    expect(await totalOf(pool, "none")).toBeUndefined();
    expect((await totalsOf(pool, "a")).map(({ customer, total }) => [customer, total])).toEqual([
      ["a1", 15],
      ["a2", 7],
    ]);
    for (const wildcard of ["_", "%1", "\\"]) expect(await totalsOf(pool, wildcard)).toEqual([]);
    // A payment is corrected, one is deleted, and one has its customer late.
    await db.transact(async (tx) => {
      tx.set(payments.amount, "p0", 11);
      await tx.deleteRow(payments, "p1");
      tx.set(payments.amount, "p4", 2);
    });
    await db.drain();
    await db.transact((tx) => tx.set(payments.customer, "p4", "b1"));
    await db.drain();
    expect(await totalsOf(pool, "")).toEqual([
      { customer: "a1", total: 16, payments: 2 },
      { customer: "b1", total: 22, payments: 2 },
    ]);
  } finally {
    await pool.end();
    await server.stop();
  }
});
