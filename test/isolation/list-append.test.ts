import { ConflictError, type Database, json, type Transaction, table } from "percolatordb";
import { checkHistory, HistoryRecorder, toElle } from "percolatordb/testing";
import { describe, expect, test } from "vitest";
import { judge } from "../histories/checker/judge.js";
import { readEdn } from "../histories/edn.js";
import { everyVariant, withDatabase } from "../support/databases.js";
import { Random } from "./random.js";

const lists = table("lists", { elements: json<number[]>() });
const keys = Array.from({ length: 8 }, (_, key) => String(key));
const runs = Number(process.env.PERCOLATOR_RUNS ?? 1);

/** Clients that read lists and append numbers to them, each number once. */
async function appendAtRandom(db: Database, recorder: HistoryRecorder, random: Random): Promise<void> {
  let elements = 0;
  const steps = async (tx: Transaction) => {
    for (let left = 1 + random.below(4); left > 0; left--) {
      const key = random.pick(keys);
      const list = (await tx.get(lists.elements, key)) ?? [];
      if (random.percent(50)) tx.set(lists.elements, key, [...list, ++elements]);
      if (random.percent(30)) await new Promise(setImmediate);
    }
  };
  const clients = Array.from({ length: 12 }, async (_, at) => {
    const client = recorder.client(`client ${at}`);
    for (let done = 0; done < 12; done++) {
      const isolation = random.percent(30) ? "serializable" : "snapshot";
      try {
        await client.transact(db, steps, { isolation, retries: 1 });
      } catch (error) {
        if (!(error instanceof ConflictError)) throw error;
      }
    }
  });
  await Promise.all(clients);
  await recorder.client("last reader").transact(db, async (tx) => {
    for (const key of keys) await tx.get(lists.elements, key);
  });
}

describe.each(everyVariant)("list-append: $store, commit $commit", (variant) => {
  const seeds = Array.from({ length: runs }, (_, at) => at + 1);
  test.each(seeds)("seed %i: both checkers find nothing in a random history", (seed) =>
    withDatabase(variant, { tables: [lists], durability: "none", collectEveryMs: 0 }, async (db) => {
      const recorder = new HistoryRecorder();
      await appendAtRandom(db, recorder, new Random(seed));
      await recorder.audit(db);
      const history = recorder.history();
      const { anomalies, committed, conflicted } = checkHistory(history);
      expect(anomalies).toEqual([]);
      expect(committed).toBeGreaterThan(50);
      expect(conflicted).toBeGreaterThan(0);
      const edn = toElle(history);
      expect(judge(readEdn(edn), "strong-snapshot-isolation").anomalies).toEqual([]);
      expect(edn.split("\n").filter((line) => line.includes(":ok")).length).toBe(committed);
      expect(edn).toMatch(/:append \d \d+/);
    }),
  );
});

describe("the export", () => {
  test("has a line for every invocation and its end", async () => {
    await withDatabase(everyVariant[0], { tables: [lists] }, async (db) => {
      const recorder = new HistoryRecorder();
      const append = (key: string, element: number) => async (tx: Transaction) =>
        tx.set(lists.elements, key, [...((await tx.get(lists.elements, key)) ?? []), element]);
      await recorder.client("a").transact(db, append("3", 1));
      const [one, two] = [await recorder.client("a").begin(db), await recorder.client("b").begin(db)];
      await append("3", 2)(one);
      await append("3", 3)(two);
      await one.commit();
      await expect(two.commit()).rejects.toThrow(ConflictError);
      expect(toElle(recorder.history()).split("\n")).toEqual([
        "{:index 0, :type :invoke, :process 0, :f :txn, :value [[:r 3 nil] [:append 3 1]]}",
        "{:index 1, :type :ok, :process 0, :f :txn, :value [[:r 3 nil] [:append 3 1]]}",
        "{:index 2, :type :invoke, :process 0, :f :txn, :value [[:r 3 nil] [:append 3 2]]}",
        "{:index 3, :type :invoke, :process 1, :f :txn, :value [[:r 3 nil] [:append 3 3]]}",
        "{:index 4, :type :ok, :process 0, :f :txn, :value [[:r 3 [1]] [:append 3 2]]}",
        "{:index 5, :type :fail, :process 1, :f :txn, :value [[:r 3 nil] [:append 3 3]]}",
        "",
      ]);
    });
  });
});
