/** Search by customer name: each word of the query must begin a word of the name. */
import type { Snapshot } from "percolatordb";
import { customers, customersByToken } from "./tables.js";
import { tokensOf } from "./tokens.js";

export interface FoundCustomer {
  readonly id: number;
  readonly name: string;
  readonly city: string | undefined;
}

export interface FoundCustomers {
  readonly customers: readonly FoundCustomer[];
  /** False if each word of the query begins so many words of names that not all were read. */
  readonly isComplete: boolean;
}

/** Most rows that are read for one word of a query. */
const maxRows = 1_000;
/** Most words of a query that are looked up. The others are only compared with the names. */
const maxWords = 8;
/** Sorts after every letter and digit. */
const last = "\u{10FFFF}";

/** The first customers whose names match, by number. */
export async function searchCustomers(view: Snapshot, query: string, limit = 10): Promise<FoundCustomers> {
  // A customer that matches is in the rows of every word, so those of the rarest word are enough.
  let [ids, fewest] = [new Set<number>(), Number.POSITIVE_INFINITY];
  const words = tokensOf(query);
  for (const start of words.slice(0, maxWords)) {
    const [found, range] = [new Set<number>(), { start, end: start + last, limit: maxRows }];
    let rows = 0;
    for await (const { row } of customersByToken.range(view, range)) {
      found.add(row[0]);
      rows++;
    }
    if (rows < fewest) [ids, fewest] = [found, rows];
  }
  const sorted = [...ids].sort((a, b) => a - b).map((id) => [id] as const);
  // The index follows some milliseconds later, so the names themselves decide.
  const names = await view.getMany(customers.name, sorted);
  const results: FoundCustomer[] = [];
  for (const [n, id] of sorted.entries()) {
    const name = names[n];
    if (results.length === limit) break;
    if (name === undefined || !matches(name, words)) continue;
    results.push({ id: id[0], name, city: await view.get(customers.city, id) });
  }
  return { customers: results, isComplete: fewest !== maxRows };
}

function matches(name: string, words: readonly string[]): boolean {
  const tokens = tokensOf(name);
  return words.every((start) => tokens.some((token) => token.startsWith(start)));
}
