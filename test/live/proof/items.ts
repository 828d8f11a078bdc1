import { createHash } from "node:crypto";
import { type CellChange, type Database, family, feed, int, open, table, text } from "percolatordb";
import { type Connection, locationOf } from "../../cluster/places.js";

/** What the processes of the proof change, and the feed that follows it. */
export const items = table("items", { total: int(), state: text(), tags: family(int()), note: text() });
export const itemFeed = feed("item-feed", [items.total, items.state, items.tags], {
  retentionMs: 86_400_000,
});

/** The row that is written last of all. */
export const lastRow = "zzz";

export interface ProcessOrders {
  readonly connection: Connection;
  readonly commit: "auto" | "two-phase";
}

export async function openItems({ connection, commit }: ProcessOrders): Promise<Database> {
  // The locks of a killed process are to expire during the run.
  const options = { tables: [items], feeds: [itemFeed], lockTtlMs: 2_000, retentionMs: 86_400_000 };
  return await open(await locationOf(connection), { ...options, commit });
}

/** A transaction's changes, as one line of text. */
export interface FedTransaction {
  readonly commitTimestamp: number;
  readonly changes: readonly CellChange[];
  readonly line: string;
}

/** The transactions of the feed after a timestamp, one by one. */
export async function* fedTransactions(
  db: Database,
  since: number,
): AsyncGenerator<FedTransaction, void, undefined> {
  let changes: CellChange[] = [];
  for await (const change of db.changes(itemFeed, { since })) {
    changes.push(change as CellChange);
    if (!change.isLast) continue;
    const { commitTimestamp } = change;
    const cells = changes.map(({ row, column, qualifier, value }) => [row, column.name, qualifier, value]);
    yield { commitTimestamp, changes, line: `${commitTimestamp} ${JSON.stringify(cells)}` };
    changes = [];
  }
}

/** Whether a transaction is the last one of the run. */
export function isEnd({ changes }: FedTransaction): boolean {
  return changes.some(({ row }) => row === lastRow);
}

/** A digest of every thousand lines, so that many lines can be compared in little memory. */
export class LineDigests {
  readonly digests: string[] = [];
  count = 0;
  #hash = createHash("sha256");

  add(line: string): void {
    this.#hash.update(line).update("\n");
    if (++this.count % 1_000 === 0) this.end();
  }

  end(): void {
    this.digests.push(this.#hash.digest("hex"));
    this.#hash = createHash("sha256");
  }
}

/** Numbers from 0 to 1 that only depend on the seed. */
export function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b_79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
