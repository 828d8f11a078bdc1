import { batchObserver, batchRowObservers, type Database, family, int, table } from "percolatordb";
import { combiningCounter } from "percolatordb/recipes";
import { describe, expect, test } from "vitest";
import { engines, withTwo } from "../support/databases.js";
import { gather } from "../support/gather.js";

const accounts = table("accounts", { balance: int(), seen: int() });
const totals = table("totals", { sum: int(), changes: int() });
const counter = combiningCounter("batches");

/** Keeps the sum of all balances. A change that is handled twice or not at all is not where the last one ended. */
const total = batchObserver("total", accounts.balance, async (tx, changes) => {
  const rows = changes.map(({ row }) => row);
  const seen = await tx.getMany(accounts.seen, rows);
  let [sum = 0, handled = 0] = [await tx.get(totals.sum, "all"), await tx.get(totals.changes, "all")];
  for (const [index, { row, value = 0, previous }] of changes.entries()) {
    if (previous !== seen[index]) throw new Error(`${row}: ${previous} is not ${seen[index]}.`);
    sum += value - (previous ?? 0);
    handled++;
    tx.set(accounts.seen, row, value);
  }
  tx.set(totals.sum, "all", sum);
  tx.set(totals.changes, "all", handled);
  counter.add(tx, "handled", changes.length);
});

/** Keeps the sum of two columns and a family, over all rows. */
const stocks = table("stocks", { here: int(), there: int(), parts: family(int()), counted: int() });
const inStock = batchRowObservers(
  "in-stock",
  [stocks.here, stocks.there, stocks.parts],
  async (tx, changes) => {
    let sum = (await tx.get(totals.sum, "stocks")) ?? 0;
    const rows = changes.map(({ row }) => row);
    if (new Set(rows).size < rows.length) throw new Error(`A row is twice among ${rows}.`);
    for (const row of rows) {
      const { here = 0, there = 0, parts, counted = 0 } = (await tx.row(stocks, row)) ?? {};
      const now = [here, there, ...(parts?.values() ?? [])].reduce((a, b) => a + b);
      sum += now - counted;
      tx.set(stocks.counted, row, now);
    }
    tx.set(totals.sum, "stocks", sum);
  },
);

const options = {
  tables: [accounts, totals, stocks, ...counter.tables],
  observers: [total, counter.observer, ...inStock],
};
const names = Array.from({ length: 30 }, (_, n) => `account ${n}`);

/** Each transaction moves some money between neighbours. */
async function transfer(db: Database, n: number): Promise<number> {
  const [from, to] = [names[n % names.length]!, names[(n * 7 + 1) % names.length]!];
  const { commitTimestamp } = await db.transact(async (tx) => {
    const [less = 100, more = 100] = await tx.getMany(accounts.balance, [from, to]);
    tx.set(accounts.balance, from, less - n);
    if (to !== from) tx.set(accounts.balance, to, more + n);
    return tx;
  });
  return commitTimestamp!;
}

describe.each(engines)("batches on $store, $commit", (variant) => {
  test("two processes handle each change of each cell once, and what is settled is in the total", async () => {
    await withTwo(variant, options, async (one, other) => {
      await using _one = one.work();
      await using _other = other.work();
      for (let round = 0; round < 3; round++) {
        const dbs = [one, other];
        const moved = Array.from({ length: 16 }, (_, n) => transfer(dbs[n % 2]!, round * 16 + n));
        // Each commit has its own changes, and another run may handle those of the one before.
        await Promise.all(moved.map(async (commit) => one.settled(await commit, { observers: [total] })));
        await using snapshot = await other.snapshot();
        const balances = await gather(snapshot.scan(accounts.balance));
        const sum = balances.reduce((a, { value }) => a + value, 0);
        expect(await snapshot.get(totals.sum, "all")).toBe(sum);
      }
      await one.drain();
      await using snapshot = await one.snapshot();
      expect(await snapshot.get(counter.values, "handled")).toBe(await snapshot.get(totals.changes, "all"));
      expect(await gather(one.parked())).toEqual([]);
      expect(await one.check()).toEqual([]);
    });
  });

  test("two processes handle each row once for all its changed columns", async () => {
    await withTwo(variant, options, async (one, other) => {
      await using _one = one.work();
      await using _other = other.work();
      for (let n = 0; n < 60; n++) {
        const row = `stock ${(n * 7) % 20}`;
        await (n % 2 === 0 ? one : other).transact((tx) => {
          if (n % 3 > 0) tx.set(stocks.here, row, n);
          if (n % 3 < 2) tx.set(stocks.there, row, -3 * n);
          if (n % 5 === 0) tx.set(stocks.parts.at(`${n % 2}`), row, 1_000 * n);
          if (n % 11 === 10) tx.delete(stocks.here, row);
        });
      }
      await one.drain();
      await using snapshot = await one.snapshot();
      let sum = 0;
      for (const { value } of await gather(snapshot.scan(stocks))) {
        const { here = 0, there = 0, parts } = value;
        sum += [here, there, ...(parts?.values() ?? [])].reduce((a, b) => a + b);
      }
      expect(await snapshot.get(totals.sum, "stocks")).toBe(sum);
      expect(await gather(one.parked())).toEqual([]);
      expect(await gather(one.pending())).toEqual([]);
      expect(await one.check()).toEqual([]);
    });
  });
});
