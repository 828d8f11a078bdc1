import { desc, eq, like } from "drizzle-orm";
import { drizzle } from "drizzle-orm/node-postgres";
import { bigint, doublePrecision, pgSchema, pgTable, text } from "drizzle-orm/pg-core";
import type { Pool } from "pg";

/** An SQL table that the shop has had all along. */
export const customers = pgTable("customers", { id: text().primaryKey(), name: text().notNull() });

/**
 * The view of the derived table `totals`, as `percolator views` made it. `existing()` says that
 * Drizzle's migrations must not make it.
 */
export const totals = pgSchema("percolator_views")
  .view("totals", {
    customer: text().notNull(),
    total: doublePrecision("sum"),
    payments: bigint("count", { mode: "number" }),
  })
  .existing();

/** The customers that have paid most, with their names. */
export async function best(pool: Pool, limit: number) {
  return await drizzle(pool)
    .select({ name: customers.name, total: totals.total, payments: totals.payments })
    .from(totals)
    .innerJoin(customers, eq(customers.id, totals.customer))
    .orderBy(desc(totals.total))
    .limit(limit);
}

/** What one customer has paid. */
export async function totalOf(pool: Pool, customer: string) {
  const [found] = await drizzle(pool).select().from(totals).where(eq(totals.customer, customer));
  return found;
}

/** What the customers whose number begins with a prefix have paid. */
export async function totalsOf(pool: Pool, prefix: string) {
  return await drizzle(pool)
    .select()
    .from(totals)
    .where(like(totals.customer, `${prefix.replace(/[\\%_]/g, "\\$&")}%`))
    .orderBy(totals.customer);
}
