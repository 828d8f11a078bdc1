import { ConflictError, int, table } from "percolatordb";
import { describe, expect, test } from "vitest";
import { commitPaths, withDatabase } from "../support/databases.js";

const accounts = table("accounts", { balance: int() });
const names = Array.from({ length: 100 }, (_, index) => `account${String(index).padStart(3, "0")}`);
const opening = 1_000;
const transfers = 1_000;

/** The same numbers in every run. */
function* numbers(seed: number): Generator<number, never> {
  let state = seed;
  for (;;) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    yield state;
  }
}

describe.each(commitPaths)("$store, commit $commit", (variant) => {
  test("1,000 concurrent transfers: every snapshot has the right sum, and every balance is right", async () => {
    await withDatabase(variant, { tables: [accounts] }, async (db) => {
      await db.transact((tx) => {
        for (const name of names) tx.set(accounts.balance, name, opening);
      });
      const expected = new Map(names.map((name) => [name, opening]));
      const random = numbers(42);
      const pick = () => names[random.next().value % names.length]!;
      let finished = false;
      let sums = 0;
      const summing = (async () => {
        while (!finished) {
          await using snapshot = await db.snapshot();
          let sum = 0;
          let count = 0;
          for await (const { value } of snapshot.scan(accounts.balance)) {
            sum += value;
            count++;
          }
          expect({ sum, count }).toEqual({ sum: names.length * opening, count: names.length });
          sums++;
        }
      })();
      const transfer = async (from: string, to: string, amount: number) => {
        await db.transact(async (tx) => {
          const [have, had] = await tx.getMany(accounts.balance, [from, to]);
          tx.set(accounts.balance, from, have! - amount);
          tx.set(accounts.balance, to, had! + amount);
        });
        expected.set(from, expected.get(from)! - amount);
        expected.set(to, expected.get(to)! + amount);
      };
      const running: Promise<void>[] = [];
      while (running.length < transfers) {
        const [from, to] = [pick(), pick()];
        if (from !== to) running.push(transfer(from, to, 1 + (random.next().value % 50)));
      }
      await Promise.all(running);
      finished = true;
      await summing;
      expect(sums).toBeGreaterThan(0);
      await using snapshot = await db.snapshot();
      const balances = await snapshot.getMany(accounts.balance, names);
      expect(new Map(names.map((name, index) => [name, balances[index]]))).toEqual(expected);
      expect(await db.check()).toEqual([]);
    });
  });

  test("of two that write the same cell and overlap, one commits", async () => {
    await withDatabase(variant, { tables: [accounts] }, async (db) => {
      const [one, two] = [await db.begin(), await db.begin()];
      one.set(accounts.balance, "a", 1);
      two.set(accounts.balance, "a", 2);
      const outcomes = await Promise.allSettled([one.commit(), two.commit()]);
      const failed = outcomes.filter((outcome) => outcome.status === "rejected");
      expect(failed.length).toBe(1);
      expect(failed[0]!.reason).toBeInstanceOf(ConflictError);
    });
  });

  test("write skew happens under snapshot, and not under serializable", async () => {
    await withDatabase(variant, { tables: [accounts] }, async (db) => {
      const skew = async (isolation: "snapshot" | "serializable") => {
        await db.transact((tx) => {
          tx.set(accounts.balance, "a", 1);
          tx.set(accounts.balance, "b", 1);
        });
        const [one, two] = [await db.begin({ isolation }), await db.begin({ isolation })];
        for (const tx of [one, two]) {
          const [a, b] = await tx.getMany(accounts.balance, ["a", "b"]);
          expect(a! + b!).toBe(2);
        }
        one.set(accounts.balance, "a", 0);
        two.set(accounts.balance, "b", 0);
        const outcomes = await Promise.allSettled([one.commit(), two.commit()]);
        return outcomes.filter((outcome) => outcome.status === "fulfilled").length;
      };
      expect(await skew("snapshot")).toBe(2);
      expect(await skew("serializable")).toBeLessThan(2);
    });
  });

  test("a transaction reads its own writes, in scans too, and other transactions do not", async () => {
    await withDatabase(variant, { tables: [accounts] }, async (db) => {
      await db.transact((tx) => {
        for (const name of ["a", "b", "c"]) tx.set(accounts.balance, name, 1);
      });
      const tx = await db.begin();
      tx.set(accounts.balance, "bb", 2);
      tx.delete(accounts.balance, "b");
      tx.set(accounts.balance, "a", 9);
      const seen: [string, number][] = [];
      for await (const { row, value } of tx.scan(accounts.balance)) seen.push([row, value]);
      expect(seen).toEqual([
        ["a", 9],
        ["bb", 2],
        ["c", 1],
      ]);
      const backwards: string[] = [];
      for await (const { row } of tx.scan(accounts.balance, { reverse: true })) backwards.push(row);
      expect(backwards).toEqual(["c", "bb", "a"]);
      await using snapshot = await db.snapshot();
      expect(await snapshot.getMany(accounts.balance, ["a", "b", "bb"])).toEqual([1, 1, undefined]);
      await tx.rollback();
    });
  });
});
