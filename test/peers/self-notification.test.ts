import { int, observer, signal, table, text } from "percolatordb";
import { describe, expect, test } from "vitest";
import { Cluster, collected, variants } from "./cluster.js";

/** Observers that write the column they watch, either until it settles or endlessly. */

const counts = table("counts", { count: int(), exported: int(), check: signal(), note: text() });

/** Exports the pending value. Makes itself due again as long as the count has changed since. */
function exporting(exports: number[]) {
  return observer("export", counts.exported, async (tx, { row, value }) => {
    if (value === undefined) return;
    const count = await tx.get(counts.count, row);
    tx.onCommit(() => exports.push(value));
    if (count === undefined || count === value) tx.delete(counts.exported, row);
    else tx.set(counts.exported, row, count);
  });
}

describe.each(variants)("$store, commit $commit", (variant) => {
  test("an observer that writes the column it watches runs until the value settles, and not more often", async () => {
    await using cluster = await Cluster.start(variant);
    const exports: number[] = [];
    const { db } = await cluster.join({ observers: [exporting(exports)] });
    await db.transact((tx) => {
      tx.set(counts.count, "row", 3);
      tx.set(counts.exported, "row", 3);
    });
    await db.drain();
    expect(exports.splice(0)).toEqual([3]);
    await db.drain();
    expect(exports).toEqual([]);
    await db.transact(async (tx) => {
      expect(await tx.get(counts.exported, "row")).toBeUndefined();
      tx.set(counts.count, "row", 5);
      tx.set(counts.exported, "row", 4);
    });
    await db.drain();
    expect(exports.splice(0)).toEqual([4, 5]);
    await db.drain();
    expect(exports).toEqual([]);
    await cluster.expectClean(db);
  });

  test("an observer that notifies its own signal runs until it stops notifying", async () => {
    await using cluster = await Cluster.start(variant);
    const counting = observer("count", counts.check, async (tx, { row }) => {
      const count = ((await tx.get(counts.count, row)) ?? 0) + 1;
      tx.set(counts.count, row, count);
      if (count < 10) tx.notify(counts.check, row);
    });
    const { db } = await cluster.join({ observers: [counting] });
    await db.transact((tx) => tx.notify(counts.check, "row"));
    await db.drain();
    await using snapshot = await db.snapshot();
    expect(await snapshot.get(counts.count, "row")).toBe(10);
    expect(await collected(db.pending())).toEqual([]);
    await cluster.expectClean(db);
  });
});

// Thousands of runs in sequence. This takes long on stores whose requests take time.
describe.each(variants.filter(({ store }) => store === "memory" || store === "one-row memory"))(
  "$store, commit $commit: endlessly",
  (variant) => {
    test("an observer that never settles is parked, and everything else continues", async () => {
      await using cluster = await Cluster.start(variant);
      const endless = observer("endless", counts.count, async (tx, { row, value }) => {
        tx.set(counts.note, row, "seen");
        if (row === "endless") tx.set(counts.count, row, value! + 1);
      });
      const { db } = await cluster.join({ observers: [endless] });
      await db.transact((tx) => {
        tx.set(counts.count, "endless", 0);
        tx.set(counts.count, "other", 0);
      });
      await db.drain();
      const [parked, ...more] = await collected(db.parked());
      expect(parked).toMatchObject({ observer: "endless", row: "endless" });
      expect(parked!.error.message).toContain("in a row");
      expect(more).toEqual([]);
      await using snapshot = await db.snapshot();
      expect(await snapshot.get(counts.note, "other")).toBe("seen");
      const reached = (await snapshot.get(counts.count, "endless"))!;
      expect(reached).toBeGreaterThan(100);
      // A parked cell does not run again by itself.
      await db.drain();
      await using later = await db.snapshot();
      expect(await later.get(counts.count, "endless")).toBe(reached);
      // A change by another transaction makes it due again.
      await db.transact((tx) => tx.set(counts.count, "endless", 0));
      await db.drain();
      await using again = await db.snapshot();
      expect(await again.get(counts.count, "endless")).toBe(reached);
      await cluster.expectClean(db);
    });

    test("an observer that notifies itself endlessly is parked too", async () => {
      await using cluster = await Cluster.start(variant);
      let runs = 0;
      const endless = observer("endless", counts.check, (tx, { row }) => {
        runs++;
        tx.notify(counts.check, row);
      });
      const { db } = await cluster.join({ observers: [endless] });
      await db.transact((tx) => tx.notify(counts.check, "row"));
      await db.drain();
      expect((await collected(db.parked())).map(({ observer: name, row }) => [name, row])).toEqual([
        ["endless", "row"],
      ]);
      const before = runs;
      expect(before).toBeGreaterThan(100);
      await db.drain();
      expect(runs).toBe(before);
      expect(await collected(db.pending())).toEqual([]);
      await cluster.expectClean(db);
    });
  },
);
