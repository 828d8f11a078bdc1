import { type Database, int, observer, table, text } from "percolatordb";

/** Numbers in groups, and the derived sum of each group. A change that is lost or handled twice makes a sum wrong. */

export const items = table("items", { group: text(), value: int(), note: text() });
export const sums = table("sums", { sum: int(), runs: int() });
export const tables = [items, sums];

export const groupOf = (row: string) => `g${row.length > 0 ? row.charCodeAt(row.length - 1) % 3 : 0}`;

export const addUp = observer("addUp", items.value, async (tx, { row, value, previous }) => {
  const group = groupOf(row);
  tx.set(sums.sum, group, ((await tx.get(sums.sum, group)) ?? 0) + (value ?? 0) - (previous ?? 0));
  tx.set(sums.runs, group, ((await tx.get(sums.runs, group)) ?? 0) + 1);
});

/** One random transaction. */
export async function change(db: Database, below: (limit: number) => number): Promise<number | undefined> {
  let committed: number | undefined;
  await db.transact((tx) => {
    const count = 1 + below(4);
    for (let each = 0; each < count; each++) {
      const row = `r${below(60)}`;
      if (below(5) === 0) tx.delete(items.value, row);
      else tx.set(items.value, row, below(1_000));
      // Long values are on pages of their own.
      if (below(8) === 0) tx.set(items.note, row, "long ".repeat(below(4_000)));
    }
    tx.onCommit((timestamp) => {
      committed = timestamp;
    });
  });
  return committed;
}
