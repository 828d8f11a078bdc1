/** Search by customer name: each word of the query must begin a word of the name. */
import type { Snapshot } from "percolatordb";
import { customers, customersByToken } from "./tables.js";
import { tokensOf } from "./tokens.js";

export interface FoundCustomer {
  readonly id: number;
  readonly name: string;
  readonly city: string | undefined;
}

/** Most rows that are read for one word of a query. */
const maxRows = 1_000;
/** Sorts after every letter and digit. */
const last = "\u{10FFFF}";

/** The first customers whose names match, by number. */
export async function searchCustomers(
  view: Snapshot,
  query: string,
  limit = 10,
): Promise<readonly FoundCustomer[]> {
  let found: ReadonlySet<number> | undefined;
  for (const start of tokensOf(query)) {
    const rows = new Set<number>();
    const range = { start, end: start + last, limit: maxRows };
    for await (const { row } of customersByToken.range(view, range)) {
      if (found?.has(row[0]) !== false) rows.add(row[0]);
    }
    found = rows;
  }
  const ids = [...(found ?? [])].sort((a, b) => a - b);
  const results: FoundCustomer[] = [];
  for (const id of ids) {
    if (results.length === limit) break;
    const customer = await view.row(customers, [id]);
    // The index follows some milliseconds later, so the name itself decides.
    if (customer?.name === undefined || !matches(customer.name, query)) continue;
    results.push({ id, name: customer.name, city: customer.city });
  }
  return results;
}

function matches(name: string, query: string): boolean {
  const tokens = tokensOf(name);
  return tokensOf(query).every((start) => tokens.some((token) => token.startsWith(start)));
}
