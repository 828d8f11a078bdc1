import type { Database } from "percolatordb";
import {
  type AnomalyKind,
  checkHistory,
  HistoryRecorder,
  type OpenWithHooksOptions,
  type RecordedDatabase,
} from "percolatordb/testing";
import { describe, expect, test } from "vitest";
import { everyVariant, type Variant, withDatabase, withTwo } from "../support/databases.js";
import * as faults from "./broken.js";
import { LossyHooks } from "./lossy-hooks.js";
import { Random } from "./random.js";
import { copying, counting, things, Workload, type WorkloadOptions } from "./workload.js";

const runs = Number(process.env.PERCOLATOR_RUNS ?? 1);
const seeds = Array.from({ length: runs }, (_, at) => at + 1);
const quick: OpenWithHooksOptions = { tables: [things], durability: "none", collectEveryMs: 0 };

describe.each(everyVariant)("$store, commit $commit", (variant) => {
  // A server takes ten times as long.
  const isSlow = variant.store === "bigtable" || variant.store === "postgres";
  const share = isSlow ? 0.5 : 1;
  const busy: WorkloadOptions = { clients: 16, transactions: 12 * share, rows: 12 };

  test.each(seeds)("seed %i: a random history of concurrent clients is sound", (seed) =>
    withTwo(variant, quick, async (db, other) => {
      const recorder = new HistoryRecorder();
      await new Workload(recorder, [db, other], new Random(seed), busy).run();
      // Checks the record alone, and then together with the contents of the store.
      expect(checkHistory(recorder.history()).anomalies).toEqual([]);
      await recorder.audit(db);
      const report = checkHistory(recorder.history());
      expect(report.anomalies).toEqual([]);
      expect(report.committed).toBeGreaterThan(100 * share);
      expect(report.conflicted).toBeGreaterThan(0);
      expect(report.failed).toBeGreaterThan(0);
      expect(report.unknown).toBe(0);
      expect(report.ranges).toBeGreaterThan(50 * share);
      expect(report.observations).toBeGreaterThan(500 * share);
      expect(await db.check()).toEqual([]);
    }),
  );

  test.each(seeds)("seed %i: with running observers", (seed) => {
    const recorder = new HistoryRecorder();
    const observers = [recorder.observer(copying), recorder.observer(counting)];
    return withTwo(variant, { ...quick, observers }, async (db, other) => {
      const workers = [db.work({ concurrency: 8 }), other.work({ concurrency: 8 })];
      const options = { ...busy, transactions: 8 * share };
      await new Workload(recorder, [db, other], new Random(seed + 1_000), options).run();
      await db.drain();
      for (const worker of workers) await worker.stop();
      await recorder.audit(db);
      const history = recorder.history();
      expect(checkHistory(history).anomalies).toEqual([]);
      const observed = history.transactions.filter(({ kind, outcome }) => {
        return kind === "observer" && outcome.type === "committed";
      });
      expect(observed.length).toBeGreaterThan(20 * share);
      await using snapshot = await db.snapshot();
      for await (const { value } of snapshot.scan(things)) expect(value.copied).toBe(value.value);
    });
  });

  test.each(seeds)("seed %i: with lost answers and with clients that stop for good", (seed) => {
    const recorder = new HistoryRecorder();
    const hooks = new LossyHooks(new Random(seed + 2_000));
    return withTwo(variant, { ...quick, hooks, lockTtlMs: 50 }, async (db, other) => {
      const options = { ...busy, stopped: (client: string) => hooks.stopped(client) };
      await new Workload(recorder, [db, other], new Random(seed + 3_000), options).run();
      hooks.heal();
      await readAll(recorder, db);
      const bySight = checkHistory(recorder.history());
      expect(bySight.anomalies).toEqual([]);
      expect(bySight.unknown).toBeGreaterThanOrEqual(hooks.stops);
      expect(hooks.stops).toBeGreaterThan(0);
      await recorder.audit(db);
      const byStore = checkHistory(recorder.history());
      expect(byStore.anomalies).toEqual([]);
      expect(byStore.resolved).toBeGreaterThanOrEqual(bySight.resolved);
      expect(byStore.committed).toBeGreaterThan(20);
    });
  });

  const many = isSlow ? 100 : 500;

  test(`${many} concurrent clients`, () =>
    withTwo(variant, quick, async (db, other) => {
      const recorder = new HistoryRecorder();
      const options = { clients: many, transactions: 1, rows: many / 5, serializable: 10 };
      await new Workload(recorder, [db, other], new Random(7), options).run();
      await recorder.audit(db);
      const report = checkHistory(recorder.history());
      expect(report.anomalies).toEqual([]);
      expect(report.committed).toBeGreaterThan(many / 2);
      expect(report.conflicted).toBeGreaterThan(0);
    }));
});

describe("anomalies of a broken database are found", () => {
  type Broken = readonly [
    name: string,
    kinds: readonly AnomalyKind[],
    breakIt: (db: Database) => RecordedDatabase,
  ];
  const cases: readonly Broken[] = [
    ["reads at a later timestamp", ["future-read"], (db) => faults.broken(db, faults.readsLate)],
    ["reads at an earlier timestamp", ["missed-write"], (db) => faults.broken(db, faults.readsEarly)],
    ["writes that are dropped", ["lost-write"], (db) => faults.broken(db, faults.dropsWrites())],
    [
      "commits that are denied",
      ["G1a", "resurrected-write"],
      (db) => faults.broken(db, faults.deniesCommits),
    ],
    ["conflicts that are hidden", ["lost-write"], (db) => faults.broken(db, faults.hidesConflicts)],
    ["scans that leave rows out", ["missed-write"], (db) => faults.broken(db, faults.skipsRows)],
    ["serializable transactions under snapshot", ["G2"], faults.weakened],
  ];

  describe.each(everyVariant.filter(({ store }) => store === "memory"))(
    "$store, commit $commit",
    (variant) => {
      // A single run need not show every anomaly, because the seed does not fully determine the
      // interleaving.
      test.each(cases)("%s", async (_, kinds, breakIt) => {
        const found = new Set<AnomalyKind>();
        for (let seed = 1; seed <= maxSeeds && !kinds.every((kind) => found.has(kind)); seed++) {
          for (const kind of await foundIn(variant, seed, breakIt)) found.add(kind);
        }
        expect([...found]).toEqual(expect.arrayContaining([...kinds]));
      });
    },
  );

  const maxSeeds = 10;

  async function foundIn(variant: Variant, seed: number, breakIt: Broken[2]): Promise<AnomalyKind[]> {
    const found: AnomalyKind[] = [];
    await withDatabase(variant, quick, async (db) => {
      const recorder = new HistoryRecorder();
      const options = { clients: 16, transactions: 20, rows: 8, serializable: 60 };
      await new Workload(recorder, breakIt(db), new Random(seed), options).run();
      await recorder.audit(db);
      found.push(...checkHistory(recorder.history()).counts.keys());
    });
    return found;
  }
});

/** Reads everything once more, so that the history contains a read after every write. */
async function readAll(recorder: HistoryRecorder, db: Database): Promise<void> {
  await using snapshot = await recorder.client("last reader").snapshot(db);
  for await (const _ of snapshot.scan(things)) {
    // Recorded.
  }
}
