import { type Database, int, table, tuple } from "percolatordb";
import { describe, expect, test } from "vitest";
import { engines, withDatabase } from "../support/databases.js";

/** Returns a new definition each time, which the database does not know yet. */
const makeCounters = (name = "counters") => table(name, { hits: int() });

function conflictsOf(db: Database): readonly unknown[] {
  const conflicts: unknown[] = [];
  db.on("conflict", (conflict) => conflicts.push(conflict));
  return conflicts;
}

/** Tables that were not listed when the database was opened. */
describe.each(engines)("on $store, $commit", (variant) => {
  test("transactions that are the first to use a table do not conflict over the catalog", async () => {
    await withDatabase(variant, {}, async (db) => {
      const conflicts = conflictsOf(db);
      const counters = makeCounters();
      const begun = await Promise.all(Array.from({ length: 8 }, () => db.begin()));
      for (const [index, tx] of begun.entries()) tx.set(counters.hits, `row ${index}`, index);
      await Promise.all(begun.map((tx) => tx.commit()));
      const hits = await db.transact((tx) => tx.getMany(counters.hits, ["row 0", "row 7"]));
      expect([hits, conflicts]).toEqual([[0, 7], []]);
    });
  });

  test("nor do those that read it first, or use different tables", async () => {
    await withDatabase(variant, {}, async (db) => {
      const conflicts = conflictsOf(db);
      const [shared, ...own] = ["shared", "a", "b", "c"].map(makeCounters);
      const counted = own.map((counters, index) =>
        db.transact(
          async (tx) => {
            const hits = (await tx.get(shared!.hits, `row ${index}`)) ?? 0;
            tx.set(counters.hits, "row", hits + 1);
          },
          { retries: 0, isolation: "serializable" },
        ),
      );
      await Promise.all(counted);
      expect(conflicts).toEqual([]);
      expect([...(await db.tables()).keys()].sort()).toEqual(["a", "b", "c", "shared"]);
    });
  });

  test("a conflict of one transaction is not an error of another", async () => {
    await withDatabase(variant, {}, async (db) => {
      const clashing = table("counters", { hits: int() }, { key: tuple(int()) });
      const [first, second, third] = [makeCounters(), clashing, makeCounters("others")] as const;
      const answers = await Promise.allSettled([
        db.transact((tx) => tx.set(first.hits, "row", 1)),
        db.transact((tx) => tx.set(second.hits, [1], 1)),
        db.transact((tx) => tx.set(third.hits, "row", 1)),
      ]);
      const [one, two, other] = answers.map(({ status }) => status);
      // Which of the two is recorded first, is not decided.
      expect([one, two].sort()).toEqual(["fulfilled", "rejected"]);
      expect(other).toBe("fulfilled");
    });
  });
});
