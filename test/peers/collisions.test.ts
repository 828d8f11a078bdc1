import { type EventMap, int, observer, signal, table } from "percolatordb";
import { describe, expect, test } from "vitest";
import { Cluster, type Member, outcomeOf, variants } from "./cluster.js";

/**
 * Many transactions on few cells. Each collision is counted, reported with its cell and retried,
 * and the totals are exact.
 */

const numbers = table("numbers", { total: int(), processed: int(), changed: signal() });

interface Heard {
  readonly commits: EventMap["commit"][];
  readonly conflicts: EventMap["conflict"][];
}

function listen({ db }: Member): Heard {
  const heard: Heard = { commits: [], conflicts: [] };
  db.on("commit", (event) => heard.commits.push(event));
  db.on("conflict", (event) => heard.conflicts.push(event));
  return heard;
}

describe.each(variants)("$store, commit $commit", (variant) => {
  test("each collision is one event with cell and label, each commit one event, and the metrics agree", async () => {
    await using cluster = await Cluster.start(variant);
    const members = [await cluster.join({ tables: [numbers] }), await cluster.join()];
    const heard = members.map(listen);
    const before = members.map(({ db }) => db.metrics);
    const labels = ["left", "right"];
    const runs = [0, 0];
    await Promise.all(
      Array.from({ length: 60 }, (_, index) => {
        const side = index % 2;
        return members[side]!.db.transact(
          async (tx) => {
            runs[side]!++;
            const row = `row${index % 3}`;
            tx.set(numbers.total, row, ((await tx.get(numbers.total, row)) ?? 0) + 1);
          },
          { label: labels[side], retries: 10_000 },
        );
      }),
    );
    for (const [side, { db }] of members.entries()) {
      const { commits, conflicts } = heard[side]!;
      const labelled = commits.filter(({ label }) => label === labels[side]);
      expect(labelled.length).toBe(30);
      expect(
        labelled.every(
          ({ cells, phases }) => cells === 1 && phases === (cluster.commit === "one-phase" ? 1 : 2),
        ),
      ).toBe(true);
      // Every run committed or conflicted.
      expect(conflicts.length).toBe(runs[side]! - 30);
      for (const conflict of conflicts) {
        expect(conflict).toMatchObject({ label: labels[side], table: "numbers", column: "total" });
        expect(["row0", "row1", "row2"]).toContain(conflict.row);
      }
      const { metrics } = db;
      expect(metrics.conflicts - before[side]!.conflicts).toBe(conflicts.length);
      expect(metrics.commits - before[side]!.commits).toBe(commits.length);
      expect(metrics.rollbacks - before[side]!.rollbacks).toBe(0);
    }
    expect(runs[0]! + runs[1]!).toBeGreaterThan(60);
    await using snapshot = await members[0]!.db.snapshot();
    expect(await snapshot.getMany(numbers.total, ["row0", "row1", "row2"])).toEqual([20, 20, 20]);
    await cluster.expectClean(members[0]!.db);
  });

  test("a rollback is not counted as a conflict, nor a conflict as a rollback", async () => {
    await using cluster = await Cluster.start(variant);
    const member = await cluster.join({ tables: [numbers] });
    const { db } = member;
    const before = db.metrics;
    const given = await db.begin();
    given.set(numbers.total, "row", 1);
    await given.rollback();
    const late = await db.begin({ label: "late" });
    await db.transact((tx) => tx.set(numbers.total, "row", 2));
    late.set(numbers.total, "row", 3);
    late.set(numbers.total, "other", 3);
    expect(await outcomeOf(late.commit())).toBe("CONFLICT");
    await expect(db.transact(() => Promise.reject(new Error("no")))).rejects.toThrow("no");
    const { metrics } = db;
    expect(metrics.conflicts - before.conflicts).toBe(1);
    expect(metrics.rollbacks - before.rollbacks).toBe(2);
    expect(metrics.commits - before.commits).toBe(1);
    expect(metrics.cellsCommitted - before.cellsCommitted).toBe(1);
  });

  test("with many collisions, a signal in each transaction and concurrent workers, nothing is lost or counted twice", async () => {
    await using cluster = await Cluster.start(variant);
    const adding = observer(
      "add",
      numbers.changed,
      async (tx, { row }) => {
        const [total, processed, all] = [
          (await tx.get(numbers.total, row))!,
          (await tx.get(numbers.processed, row)) ?? 0,
          (await tx.get(numbers.total, "all")) ?? 0,
        ];
        tx.set(numbers.processed, row, total);
        tx.set(numbers.total, "all", all + total - processed);
      },
      { attempts: 1_000 },
    );
    const retentionMs = 60_000;
    const members = [
      await cluster.join({ observers: [adding], retentionMs }),
      await cluster.join({ observers: [adding], retentionMs }),
    ];
    const workers = members.map(({ db }) => db.work());
    const expected = [0, 0, 0, 0, 0];
    const loading = Array.from({ length: 200 }, (_, index) => {
      const number = (index * index + 3 * index) % 5;
      expected[number]!++;
      return members[index % 2]!.db.transact(
        async (tx) => {
          const row = String(number);
          tx.set(numbers.total, row, ((await tx.get(numbers.total, row)) ?? 0) + 1);
          tx.notify(numbers.changed, row);
        },
        { label: "load", retries: 10_000 },
      );
    });
    await Promise.all(loading);
    await members[0]!.db.drain();
    for (const worker of workers) await worker.stop();
    const rows = expected.map((_, number) => String(number));
    const { db } = members[1]!;
    await using snapshot = await db.snapshot();
    const totals = (await snapshot.getMany(numbers.total, rows)).map((total) => total ?? 0);
    expect(totals).toEqual(expected);
    expect((await snapshot.getMany(numbers.processed, rows)).map((each) => each ?? 0)).toEqual(expected);
    expect(await snapshot.get(numbers.total, "all")).toBe(200);
    await snapshot.close();
    // At the end one version of each cell is left.
    await cluster.clock.advance(3 * retentionMs);
    await db.collect();
    for (const row of [...rows, "all"]) {
      const columns = await db.inspect(numbers, row);
      for (const { writes, locks, statuses } of columns) {
        expect([writes.length, locks.length, statuses.length]).toEqual([1, 0, 0]);
      }
    }
    await cluster.expectClean(db);
  });
});
