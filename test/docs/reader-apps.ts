/** Modules of readers of the pages, with the tables and observers that the pages' commands name. */
import { family, float, int, json, observer, open, table, text, tuple } from "percolatordb";
import { attach } from "percolatordb/postgres";
import { derive, eventualIndex, uniqueConstraint } from "percolatordb/recipes";

const documents = table("documents", {
  text: text(),
  contents: text(),
  title: text(),
  links: json<readonly string[]>(),
  anchors: family(text()),
});
const duplicates = table("duplicates", { canonical: text() });
const visits = table("visits", { seconds: int() }, { key: tuple(text(), int()) });
const users = table("users", { profile: json<{ readonly city: string }>(), email: text() });
const people = table("people", { email: text() });
const orders = table("orders", { customer: text(), total: int(), state: text() });
const customers = table("customers", { name: text() });
const events = table("events", { kind: text() });
const sales = table("sales", { shop: text(), cents: int() });

const cluster = observer("cluster", documents.contents, (tx, { row, value }) => {
  tx.set(duplicates.canonical, String(value?.length), row);
});
/** Parks each change. */
const titles = observer(
  "titles",
  documents.title,
  () => {
    throw new Error("The service answered 503: the title was refused.");
  },
  { attempts: 1 },
);

const emails = uniqueConstraint("emails", users.email, { by: (email) => email.toLowerCase() });
const byCity = eventualIndex("by_city", users.profile, { by: text(), of: ({ city }) => [city] });
const revenue = derive("revenue", {
  from: sales,
  key: [text()],
  groupBy: ({ shop }) => [shop],
  sum: ({ cents }) => cents,
});

/** After orders were dropped. */
export const appWithoutOrders = {
  tables: [documents, duplicates, visits, users, people, customers, events, sales],
  observers: [cluster, titles],
  lookups: [emails, byCity],
  derivations: [revenue],
};
export const app = { ...appWithoutOrders, tables: [...appWithoutOrders.tables, orders] };

/** Fills a new database, and lets the observers run. */
export async function fill(location: string): Promise<void> {
  const { tables, observers, derivations } = app;
  const all = [...observers, ...derivations.flatMap((each) => each.observers), byCity.observer];
  await using db = await open(location, { tables: [...tables, emails.table, byCity.table], observers: all });
  await db.transact(async (tx) => {
    tx.set(documents.contents, "https://example.org/", "<h1>Example</h1>");
    tx.set(documents.title, "https://example.org/", "Example");
    tx.set(documents.anchors.at("https://example.com/"), "https://example.org/", "an example");
    tx.set(documents.text, "tea", "to drink tea");
    tx.set(visits.seconds, ["https://example.org/", 2024], 5);
    tx.set(users.profile, "ann", { city: "Oslo" });
    tx.set(people.email, "p7", "ann@example.org");
    tx.set(customers.name, "ann", "Ann");
    tx.set(events.kind, "e0", "view");
    tx.set(sales.shop, "s1", "Bergen");
    tx.set(sales.cents, "s1", 450);
    tx.set(orders.total, "2026-1", 5);
    await emails.set(tx, "ann", "ann@example.org");
  });
  await db.drain();
}

const attached = attach("public.orders", {
  key: tuple(int()),
  columns: { customer: text(), total: float() },
});
const sum = observer("sum", attached.total, () => undefined);

const totals = table("totals", { total: float() });
const yearly = table("yearly", { total: float() }, { key: tuple(text(), int()) });

/** On PostgreSQL, with the SQL table `public.orders`. */
export const sql = { tables: [attached, totals, yearly], observers: [sum] };
