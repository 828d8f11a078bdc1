import { type Database, observer, open, table, text } from "percolatordb";
import { memoryStore } from "percolatordb/memory";
import { SeededRandom, TestClock } from "percolatordb/testing";
import { describe, expect, test } from "vitest";
import { onlyNetwork } from "./costs.js";
import { type mended, throughStore, webIndex } from "./settings.js";
import { simulateScale } from "./simulate.js";
import { SlowStore, slowOracle } from "./slow-store.js";

/** Holds the model against the library itself: the same work, on a store in memory behind a network, in time that a test lets pass. */

const oneWay = 5;
const pages = table("pages", {
  stage0: text(),
  stage1: text(),
  stage2: text(),
  stage3: text(),
  other: text(),
});
const stages = [pages.stage0, pages.stage1, pages.stage2, pages.stage3] as const;

/** Each stage reads two rows, writes two, and but for the last one a cell that the next stage watches, in one of the two. */
function observersOf(random: SeededRandom) {
  return stages.map((column, stage) =>
    observer(`stage${stage}`, column, async (tx) => {
      const row = () => `row ${random.below(1e9)}`;
      await Promise.all([tx.get(pages.other, row()), tx.get(pages.other, row())]);
      tx.set(pages.other, row(), "x");
      const next = stages[stage + 1];
      tx.set(next ?? pages.other, row(), "x");
    }),
  );
}

interface Measured {
  readonly durations: number[];
  readonly delays: number[];
  readonly conditional: number;
  readonly bulk: number;
  readonly read: number;
}

async function measure(workers: number, documents: number, everyMs: number): Promise<Measured> {
  const clock = new TestClock({ passesByItself: true });
  const shared = memoryStore({ atomicBatches: false, environment: clock.process() });
  const counting = memoryStore({ environment: clock.process() }).atomic!;
  const stores: SlowStore[] = [];
  const databases: Database[] = [];
  const durations: number[] = [];
  const delays: number[] = [];
  // As on a cluster that has run for a while: opening does not wait until all processes know of new observers.
  const first = clock.process();
  const founding = open(new SlowStore(shared, first, oneWay), {
    environment: first,
    tables: [pages],
    observers: observersOf(new SeededRandom("founder")),
    commit: "two-phase",
    oracle: slowOracle(() => counting.next(), first, oneWay),
    collectEveryMs: 0,
  });
  await clock.until((await clock.until(founding)).close());
  await clock.advance(120_000);
  for (let number = 0; number < workers; number++) {
    const environment = clock.process();
    const store = new SlowStore(shared, environment, oneWay);
    stores.push(store);
    const opening = open(store, {
      environment,
      tables: [pages],
      observers: observersOf(new SeededRandom(`engine ${number}`)),
      commit: "two-phase",
      oracle: slowOracle(() => counting.next(), environment, oneWay),
      collectEveryMs: 0,
    });
    const db = await clock.until(opening);
    db.on("run", ({ outcome, durationMs, delayMs }) => {
      if (outcome !== "committed") return;
      durations.push(durationMs);
      delays.push(delayMs!);
    });
    databases.push(db);
  }
  const loaderEnvironment = clock.process();
  const loaderStore = new SlowStore(shared, loaderEnvironment, oneWay);
  const loader = await clock.until(
    open(loaderStore, {
      environment: loaderEnvironment,
      tables: [pages],
      commit: "two-phase",
      oracle: slowOracle(() => counting.next(), loaderEnvironment, oneWay),
      collectEveryMs: 0,
    }),
  );
  const working = databases.map((db) => db.work());
  await clock.advance(5_000);
  for (const store of stores) store.reset();
  for (let document = 0; document < documents; document++) {
    await clock.until(loader.transact(async (tx) => tx.set(pages.stage0, `document ${document}`, "x")));
    await clock.advance(everyMs);
  }
  await clock.advance(10_000);
  for (const worker of working) await clock.until(worker.stop());
  for (const db of [...databases, loader]) await clock.until(db.close());
  const sum = (of: (store: SlowStore) => number) => stores.reduce((total, store) => total + of(store), 0);
  return {
    durations: durations.sort((a, b) => a - b),
    delays: delays.sort((a, b) => a - b),
    conditional: sum((store) => store.conditional),
    bulk: sum((store) => store.unconditional),
    read: sum((store) => store.rowsRead),
  };
}

function model(workers: number, design: typeof mended, documentsPerSecond: number) {
  const costs = onlyNetwork(oneWay);
  const workload = { ...webIndex, compute: 0.001 };
  return simulateScale(
    {
      seed: "engine",
      workers,
      servers: 2,
      concurrency: 64,
      design,
      workload,
      // What is ideal is a million runs a second a worker, which takes a microsecond.
      load: (documentsPerSecond * workload.observers * 0.001) / 1_000 / workers,
      warmUp: 5,
      counted: 60,
    },
    costs,
  );
}

const middle = (sorted: readonly number[]) => sorted[Math.floor(sorted.length / 2)]!;

describe("the model against the library", () => {
  test("one worker: the same requests and the same time for a run", async () => {
    const documents = 40;
    const real = await measure(1, documents, 500);
    const modelled = model(1, { ...throughStore, gather: 0 }, 2);
    const { counts } = modelled;
    expect(real.durations).toHaveLength(4 * documents);
    expect(Math.abs(middle(real.durations) - modelled.duration.p50)).toBeLessThan(oneWay);
    const runs = real.durations.length;
    expect(real.conditional / runs).toBeCloseTo(counts.conditionalMutations / counts.committed, 0);
    expect(real.bulk / runs).toBeCloseTo(counts.bulkRows / counts.committed, 0);
    expect(real.read / runs).toBeCloseTo(counts.rowsRead / counts.committed, 0);
  });

  test("two workers share the work, each change is run once, and the delay is alike", async () => {
    const documents = 40;
    const real = await measure(2, documents, 500);
    expect(real.delays).toHaveLength(4 * documents);
    const modelled = model(2, { ...throughStore, gather: 0 }, 2);
    const ratio = middle(real.delays) / modelled.delay.p50;
    expect(ratio).toBeGreaterThan(0.6);
    expect(ratio).toBeLessThan(1.6);
  });
});
