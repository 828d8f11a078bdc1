import { ConflictError, type Database, type Transaction } from "percolatordb";
import { describe, expect, test } from "vitest";
import { accounts } from "./bank.js";
import { Cluster, collected, outcomeOf, variants } from "./cluster.js";

/** Overlapping transfers, with concurrent snapshots and deletes. */

async function add(tx: Transaction, row: string, amount: number): Promise<void> {
  tx.set(accounts.balance, row, ((await tx.get(accounts.balance, row)) ?? 0) + amount);
}

async function openAccounts(db: Database, balances: Record<string, number>): Promise<void> {
  await db.transact((tx) => {
    for (const [row, value] of Object.entries(balances)) tx.set(accounts.balance, row, value);
  });
}

async function balances(db: Database): Promise<Record<string, number>> {
  await using snapshot = await db.snapshot();
  const items = await collected(snapshot.scan(accounts.balance));
  return Object.fromEntries(items.map(({ row, value }) => [row, value]));
}

describe.each(variants)("$store, commit $commit", (variant) => {
  test("of two transfers that overlap in one account the first to commit wins, as a whole", async () => {
    await using cluster = await Cluster.start(variant);
    const [one, two] = [await cluster.join(), await cluster.join()];
    await openAccounts(one.db, { bob: 10, joe: 20, jill: 60 });
    const slow = await one.db.begin();
    await add(slow, "bob", -5);
    await add(slow, "joe", 5);
    const quick = await two.db.begin();
    await add(quick, "bob", -5);
    await add(quick, "jill", 5);
    await quick.commit();
    await expect(slow.commit()).rejects.toMatchObject({ code: "CONFLICT", row: "bob", column: "balance" });
    expect(await balances(one.db)).toEqual({ bob: 5, jill: 65, joe: 20 });
    await cluster.expectClean(two.db);
  });

  test("if both are retried nothing is lost: the sum stays the same, and every snapshot shows it", async () => {
    await using cluster = await Cluster.start(variant);
    const members = [await cluster.join(), await cluster.join(), await cluster.join()];
    const rows = Array.from({ length: 8 }, (_, index) => `account${index}`);
    await openAccounts(members[0]!.db, Object.fromEntries(rows.map((row) => [row, 100])));
    const expected = new Map(rows.map((row) => [row, 100]));
    const watch = cluster.clock.process();
    let finished = false;
    let looks = 0;
    const looking = (async () => {
      while (!finished) {
        const found = await balances(members[looks++ % members.length]!.db);
        const sum = Object.values(found).reduce((total, value) => total + value, 0);
        expect([Object.keys(found).length, sum]).toEqual([8, 800]);
        // Time stands still while any process is busy, so no backoff would end. Now and then this
        // loop lets time pass.
        if (looks % 10 === 0) await new Promise<void>((resolve) => watch.setTimer(resolve, 1));
        else await new Promise((resolve) => setImmediate(resolve));
      }
    })();
    const transfer = async (index: number) => {
      const [from, to] = [rows[(index * 5) % 8]!, rows[(index * 3 + 1) % 8]!];
      if (from === to) return;
      await members[index % members.length]!.db.transact(async (tx) => {
        await add(tx, from, -index);
        await add(tx, to, index);
      });
      expected.set(from, expected.get(from)! - index);
      expected.set(to, expected.get(to)! + index);
    };
    await Promise.all(Array.from({ length: 60 }, (_, index) => transfer(index)));
    finished = true;
    await looking;
    expect(looks).toBeGreaterThan(variant.store === "bigtable" ? 0 : 1);
    expect(await balances(members[1]!.db)).toEqual(Object.fromEntries(expected));
    await cluster.expectClean(members[2]!.db);
  });

  test("a snapshot still sees a row that was deleted after it, and never one that was set again", async () => {
    await using cluster = await Cluster.start(variant);
    const [one, two] = [await cluster.join(), await cluster.join()];
    await openAccounts(one.db, { bob: 10, jane: 0, jill: 60, joe: 20 });
    const before = await one.db.begin();
    const transfer = await two.db.begin();
    await add(transfer, "bob", -5);
    await add(transfer, "joe", -5);
    await add(transfer, "jill", 10);
    expect(await before.get(accounts.balance, "bob")).toBe(10);
    await transfer.commit();
    await two.db.transact((tx) => tx.delete(accounts.balance, "jane"));
    expect(await before.getMany(accounts.balance, ["joe", "jill", "jane"])).toEqual([20, 60, 0]);
    expect((await collected(before.scan(accounts.balance))).map(({ row }) => row)).toEqual([
      "bob",
      "jane",
      "jill",
      "joe",
    ]);

    await using between = await one.db.snapshot();
    await two.db.transact((tx) => tx.set(accounts.balance, "jane", 3));
    expect(await between.getMany(accounts.balance, ["bob", "joe", "jill", "jane"])).toEqual([
      5,
      15,
      70,
      undefined,
    ]);
    expect((await collected(between.scan(accounts.balance))).map(({ row }) => row)).toEqual([
      "bob",
      "jill",
      "joe",
    ]);
    expect(await balances(one.db)).toEqual({ bob: 5, jane: 3, jill: 70, joe: 15 });

    before.set(accounts.balance, "bob", 5);
    before.set(accounts.balance, "joe", 25);
    await expect(before.commit()).rejects.toBeInstanceOf(ConflictError);
    expect(await balances(two.db)).toEqual({ bob: 5, jane: 3, jill: 70, joe: 15 });
    await cluster.expectClean(one.db);
  });

  test.each(["set", "delete"] as const)(
    "a delete conflicts with a later %s in an overlapping transaction",
    async (what) => {
      await using cluster = await Cluster.start(variant);
      const [one, two] = [await cluster.join(), await cluster.join()];
      await openAccounts(one.db, { bob: 10 });
      const late = await one.db.begin();
      await two.db.transact((tx) => tx.delete(accounts.balance, "bob"));
      if (what === "set") late.set(accounts.balance, "bob", 11);
      else late.delete(accounts.balance, "bob");
      expect(await outcomeOf(late.commit())).toBe("CONFLICT");
      expect(await balances(two.db)).toEqual({});
      await cluster.expectClean(one.db);
    },
  );

  test("a scan keeps to its snapshot while other transactions delete, set and add rows", async () => {
    await using cluster = await Cluster.start(variant);
    const [one, two] = [await cluster.join(), await cluster.join()];
    await openAccounts(one.db, Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`row${i + 10}`, i])));
    await using snapshot = await one.db.snapshot();
    const seen: [string, number][] = [];
    for await (const { row, value } of snapshot.scan(accounts.balance)) {
      seen.push([row, value]);
      if (seen.length % 10 !== 0) continue;
      await two.db.transact((tx) => {
        tx.delete(accounts.balance, `row${seen.length + 11}`);
        tx.set(accounts.balance, `row${seen.length + 12}`, -1);
        tx.set(accounts.balance, `row${seen.length + 12}b`, -1);
      });
    }
    expect(seen).toEqual(Array.from({ length: 50 }, (_, i) => [`row${i + 10}`, i]));
    const now = await balances(one.db);
    expect([now.row21, now.row22, now.row22b]).toEqual([undefined, -1, -1]);
  });
});
