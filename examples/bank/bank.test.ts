import { setTimeout } from "node:timers/promises";
import fc from "fast-check";
import { type Database, open } from "percolatordb";
import { SeededRandom, TestClock } from "percolatordb/testing";
import { describe, expect, test } from "vitest";
import { variants, withDatabase } from "../../test/support/databases.js";
import { type AuditReport, audit, auditBank } from "./audit.js";
import { drawTogether } from "./household.js";
import { makeTransfers, openAccounts } from "./load.js";
import { showSteps } from "./steps.js";
import { accounts, cash, type Transfer, tables, trail, transfers } from "./tables.js";
import { InsufficientFundsError, pair, transfer } from "./transfer.js";

const options = { tables, observers: [audit], durability: "none" } as const;

async function auditNow(db: Database): Promise<AuditReport> {
  await using view = await db.snapshot();
  return await auditBank(view);
}

const balancesOf = (db: Database, ...names: string[]) =>
  db.transact((tx) => tx.getMany(accounts.balance, names));

async function trailOf(db: Database): Promise<unknown[]> {
  await using view = await db.snapshot();
  const lines = [];
  for await (const { row, value } of view.scan(trail.amount)) lines.push([...row, value]);
  return lines;
}

describe.each(variants)("on $store, $commit", (variant) => {
  test("a transfer moves money once, and fails if there is not enough", async () => {
    await withDatabase(variant, options, async (db) => {
      const make = (id: string, given: Transfer) => db.transact((tx) => transfer(tx, id, given));
      expect(await make("1", { from: cash, to: "Bob", amount: 10 })).toBe(true);
      expect(await make("2", { from: "Bob", to: "Joe", amount: 7 })).toBe(true);
      expect(await make("2", { from: "Bob", to: "Joe", amount: 7 })).toBe(false);
      await expect(make("3", { from: "Bob", to: "Joe", amount: 4 })).rejects.toThrow(InsufficientFundsError);
      await expect(make("4", { from: "Bob", to: "Bob", amount: 1 })).rejects.toThrow("pay itself");
      for (const amount of [0, -1, 0.5]) {
        await expect(make("5", { from: "Bob", to: "Joe", amount })).rejects.toThrow(RangeError);
      }
      expect(await balancesOf(db, "Bob", "Joe", cash)).toEqual([3, 7, -10]);
      expect(await auditNow(db)).toEqual({ accounts: 3, transfers: 2, waiting: 2, sum: 0, problems: [] });
      await db.drain();
      expect(await auditNow(db)).toMatchObject({ waiting: 0, problems: [] });
      expect(await trailOf(db)).toEqual([
        ["Bob", "1", 10],
        ["Bob", "2", -7],
        ["Joe", "2", 7],
        ["cash", "1", -10],
      ]);
    });
  });

  test("a household covers its accounts together, but no more than that", async () => {
    await withDatabase(variant, options, async (db) => {
      const make = (id: string, given: Transfer) => db.transact((tx) => transfer(tx, id, given));
      await db.transact(async (tx) => pair(tx, "Ann", "Ben"));
      await make("1", { from: cash, to: "Ann", amount: 100 });
      await make("2", { from: "Ben", to: "shop", amount: 60 });
      await expect(make("3", { from: "Ann", to: "shop", amount: 41 })).rejects.toThrow(
        InsufficientFundsError,
      );
      await make("4", { from: "Ann", to: "shop", amount: 40 });
      expect(await balancesOf(db, "Ann", "Ben", "shop")).toEqual([60, -60, 100]);
      expect((await auditNow(db)).problems).toEqual([]);
    });
  });

  test("the sums are right at every moment during many transfers, and no account is overdrawn", async () => {
    await withDatabase(variant, options, async (db) => {
      await using worker = db.work();
      await openAccounts(db, 12);
      const seen: AuditReport[] = [];
      let isLoading = true;
      const auditing = (async () => {
        for (; isLoading; await setTimeout(5)) seen.push(await auditNow(db));
      })();
      const random = new SeededRandom("transfers");
      const { done, refused } = await makeTransfers(db, {
        accounts: 12,
        transfers: 60,
        clients: 8,
        name: "load",
        random: () => random.next(),
      });
      isLoading = false;
      await auditing;
      await worker.idle();
      expect(seen.flatMap(({ problems }) => problems)).toEqual([]);
      expect(await auditNow(db)).toEqual({
        accounts: 13,
        transfers: 12 + done,
        waiting: 0,
        sum: 0,
        problems: [],
      });
      expect(done + refused).toBe(60);
      expect(done).toBeGreaterThan(20);
    });
  });

  test("any sequence of transfers has the same result as the transfers one after another", async () => {
    const names = fc.constantFrom("a", "b", "c");
    const given = fc.record({ from: fc.oneof(names, fc.constant(cash)), to: names, amount: fc.nat(30) });
    await fc.assert(
      fc.asyncProperty(fc.array(given, { maxLength: 12 }), async (sequence) => {
        await withDatabase(variant, options, async (db) => {
          const expected = new Map<string, number>();
          const get = (name: string) => expected.get(name) ?? 0;
          for (const [index, each] of sequence.entries()) {
            const { from, to, amount } = each;
            const made = await db.transact((tx) => transfer(tx, `${index}`, each)).catch(() => false);
            const isMeant = amount > 0 && from !== to && (from === cash || get(from) >= amount);
            expect(made).toBe(isMeant);
            if (!isMeant) continue;
            expected.set(from, get(from) - amount);
            expected.set(to, get(to) + amount);
          }
          await db.drain();
          expect(await balancesOf(db, "a", "b", "c")).toEqual(
            ["a", "b", "c"].map((name) => expected.get(name)),
          );
          expect(await auditNow(db)).toMatchObject({ waiting: 0, problems: [] });
        });
      }),
      { numRuns: 5 },
    );
  });
});

test("an audit finds a balance that changed without a transfer", async () => {
  await using db = await open("memory:", options);
  await db.transact((tx) => transfer(tx, "1", { from: cash, to: "Bob", amount: 10 }));
  await db.transact((tx) => tx.set(accounts.balance, "Bob", 11));
  expect((await auditNow(db)).problems).toEqual([
    "Bob holds 11, and its transfers come to 10.",
    "All balances together are 1.",
  ]);
});

test("an audit finds a trail with half a transfer, and one with a transfer that was never made", async () => {
  await using db = await open("memory:", options);
  await db.transact((tx) => transfer(tx, "1", { from: cash, to: "Bob", amount: 10 }));
  await db.transact((tx) => tx.set(trail.amount, ["Bob", "1"], 10));
  expect((await auditNow(db)).problems).toEqual(["Transfer 1 is in the trail of Bob only."]);
  await db.transact((tx) => tx.set(trail.amount, ["Bob", "2"], 10));
  expect((await auditNow(db)).problems).toHaveLength(2);
});

test("a transfer that is removed from the ledger is parked by the audit observer", async () => {
  const clock = new TestClock();
  await using db = await open("memory:", { ...options, environment: clock.process() });
  await db.transact((tx) => transfer(tx, "1", { from: cash, to: "Bob", amount: 10 }));
  await db.transact((tx) => tx.delete(transfers.transfer, "1"));
  await clock.until(db.drain());
  const parked = [];
  for await (const { row, error } of db.parked()) parked.push([row, error.message]);
  expect(parked).toEqual([["1", "Transfer 1 was taken out of the ledger."]]);
});

test("write skew overdraws a household under snapshot isolation, and not when serializable", async () => {
  expect(await drawTogether("snapshot")).toEqual({
    paid: 2,
    total: -100,
    problems: ["Ann is overdrawn: $-100 with its household.", "Ben is overdrawn: $-100 with its household."],
  });
  expect(await drawTogether("serializable")).toEqual({ paid: 1, total: 50, problems: [] });
});

test("the steps of a transfer are those of the paper's figure 4", async () => {
  const lines: string[] = [];
  await showSteps((line) => lines.push(line));
  expect(lines.join("\n")).toMatchInlineSnapshot(`
    "Bob has $10, Joe $2.

    row           data        lock                          write             status
    Bob                                                     2: data at 1
                  1: $10                                                      1: committed
    Joe                                                     2: data at 1
                  1: $2

    Prewrite of Bob: the new balance stands in \`data\`, with a lock. This lock is the primary.

    row           data        lock                          write             status
    Bob           3: $3       3: I am primary
                                                            2: data at 1
                  1: $10                                                      1: committed
    Joe                                                     2: data at 1
                  1: $2

    Prewrite of Joe: his lock names the primary. A transaction that meets it looks there.

    row           data        lock                          write             status
    Bob           3: $3       3: I am primary
                                                            2: data at 1
                  1: $10                                                      1: committed
    Joe           3: $9       3: primary is accounts/Bob
                                                            2: data at 1
                  1: $2

    Commit point: at the primary the lock gave way to a write record. Now both are paid, though Joe's lock stands.

    row           data        lock                          write             status
    Bob                                                     4: data at 3
                  3: $3                                                       3: committed
                                                            2: data at 1
                  1: $10                                                      1: committed
    Joe           3: $9       3: primary is accounts/Bob
                                                            2: data at 1
                  1: $2

    Joe's lock is rolled forward too. A reader that had met it would have done the same.

    row           data        lock                          write             status
    Bob                                                     4: data at 3
                  3: $3                                                       3: committed
                                                            2: data at 1
                  1: $10                                                      1: committed
    Joe                                                     4: data at 3
                  3: $9
                                                            2: data at 1
                  1: $2
    "
  `);
});
