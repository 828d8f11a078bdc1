import type { Database } from "percolatordb";
import { accounts, bodies, pages, visits } from "./program.js";

/** Everything that a database of the program holds, as values that JSON can express. */
export async function contentOf(db: Database, since: number, changes: number): Promise<unknown> {
  await using view = await db.snapshot();
  const rows = {
    pages: await all(view.scan(pages)),
    anchors: await all(view.entries(pages.anchors, "a")),
    visits: await all(view.scan(visits)),
    accounts: await all(view.scan(accounts)),
  };
  const parked = (await all(db.parked())).map(({ observer, row, attempts, error }) => ({
    observer,
    row,
    attempts,
    error: error.message,
  }));
  const pending = (await all(db.pending())).map(({ observer, row }) => ({ observer, row }));
  const history = await db.history(pages.body, "a");
  const feed: unknown[] = [];
  if (changes > 0)
    for await (const { commitTimestamp, row, column, qualifier, value, label } of db.changes(bodies, {
      since,
    })) {
      const name = column === pages.body ? "body" : "anchors";
      feed.push({ commitTimestamp, row, column: name, qualifier, value, label });
      if (feed.length === changes) break;
    }
  return JSON.parse(JSON.stringify({ rows, parked, pending, history, feed }, plain));
}

function plain(this: Readonly<Record<string, unknown>>, key: string, value: unknown): unknown {
  const whole = this[key];
  if (whole instanceof Uint8Array) return `base64 ${Buffer.from(whole).toString("base64")}`;
  if (typeof value === "bigint") return `${value}n`;
  return value;
}

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}
