import { describe, expect, test } from "vitest";
import { chartOf } from "./chart.js";
import { costs, onlyNetwork } from "./costs.js";
import { parseOptions } from "./options.js";
import { tableOf } from "./report.js";
import {
  designs,
  mended,
  type ScaleSettings,
  throughCoordinator,
  throughStore,
  webIndex,
} from "./settings.js";
import { processorOfRun, simulateScale } from "./simulate.js";
import { studies } from "./studies.js";

function settings(changed: Partial<ScaleSettings> = {}): ScaleSettings {
  return {
    seed: "test",
    workers: 4,
    servers: 4,
    concurrency: 64,
    design: mended,
    workload: webIndex,
    load: 0.5,
    warmUp: 0,
    counted: 3,
    ...changed,
  };
}

describe.each(designs.map((design) => [design.name, design] as const))("%s", (_, design) => {
  test("the same seed gives the same run, another one another", () => {
    const once = simulateScale(settings({ design, counted: 1 }));
    expect(simulateScale(settings({ design, counted: 1 }))).toEqual(once);
    expect(simulateScale(settings({ design, counted: 1, seed: "other" })).hash).not.toBe(once.hash);
  });

  test("nothing is lost, and nothing done twice", () => {
    const { counts, hintsPut, backlog } = simulateScale(settings({ design, load: 0.9, counted: 2 }));
    expect(counts.committed).toBeGreaterThan(500);
    // Each hint is of a load or of a commit; each that is gone was committed once, and some that stand are too.
    expect(hintsPut).toBeGreaterThanOrEqual(counts.loaded);
    expect(hintsPut - counts.loaded).toBeLessThanOrEqual(counts.committed + 4 * 64);
    expect(counts.committed).toBeGreaterThanOrEqual(hintsPut - backlog);
    expect(counts.committed).toBeLessThanOrEqual(hintsPut);
  });
});

test("what is loaded is done where there is room, by Little's law too", () => {
  const {
    throughput,
    offered,
    counts,
    settings: ran,
  } = simulateScale(settings({ warmUp: 3, counted: 20, load: 0.4 }));
  expect(throughput / offered).toBeCloseTo(1, 1);
  expect((counts.duration.mean / 1_000) * throughput).toBeLessThan(ran.workers * ran.concurrency);
});

test("one worker does what its processor allows", () => {
  const { throughput, ideal, use } = simulateScale(
    settings({ workers: 1, servers: 4, load: 2, warmUp: 2, counted: 10 }),
  );
  expect(use.workers).toBeGreaterThan(0.97);
  expect(throughput / ideal).toBeGreaterThan(0.9);
  expect(throughput / ideal).toBeLessThan(1.03);
});

test("servers that are too few are what bounds it", () => {
  const { tablet } = costs;
  const { reads, writes, observers } = webIndex;
  const perRun =
    (1 + reads) * tablet.read +
    (2 * writes + 2) * tablet.conditionalMutation +
    (1 + (observers - 1) / observers) * tablet.write;
  const { throughput, use } = simulateScale(
    settings({ workers: 8, servers: 2, load: 1, warmUp: 3, counted: 5 }),
  );
  expect(use.servers).toBeGreaterThan(0.97);
  // Loading takes its part, and looking for hints.
  expect(throughput * perRun).toBeLessThan(2_000);
  expect(throughput * perRun).toBeGreaterThan(0.6 * 2_000);
});

test("without processors and servers a run takes its way through the network and no more", () => {
  const { duration } = simulateScale(
    settings({ workers: 1, workload: { ...webIndex, compute: 0.001 }, load: 0.0001, counted: 60 }),
    { ...onlyNetwork(5), client: { ...onlyNetwork(5).client, engine: 0.001 } },
  );
  // Start, state, reads, prewrites, commit timestamp, hint but for the last, primary; and 2 ms of gathering for both timestamps.
  expect(duration.p50).toBeGreaterThan(70);
  expect(duration.p50).toBeLessThan(80);
});

test("processor time of a run, by hand", () => {
  expect(processorOfRun(costs, webIndex, mended)).toBeCloseTo(
    0.157 + 0.06 + (0.139 + 2 * 0.018) + 2 + 6 * 0.1 + 0.75 * 0.1065 + 0.0165,
  );
  const alone = { ...webIndex, reads: 0 };
  expect(processorOfRun(costs, alone, mended)).toBeCloseTo(processorOfRun(costs, webIndex, mended) - 0.175);
});

test("hot rows conflict, others do not", () => {
  const hot = simulateScale(settings({ workload: { ...webIndex, rows: 1_000, exponent: 1 } }));
  expect(hot.counts.conflicts / hot.counts.committed).toBeGreaterThan(0.05);
  const cold = simulateScale(settings());
  expect(cold.counts.conflicts).toBe(0);
});

test("claims keep two workers from doing one thing", () => {
  const wasted = (finding: "nothing" | "claims") => {
    const design = { ...mended, finding };
    const { counts } = simulateScale(settings({ design, workers: 10, servers: 5, load: 1.5 }));
    return (counts.conflicts + counts.clean) / counts.committed;
  };
  expect(wasted("claims")).toBeLessThan(wasted("nothing") / 2);
});

test("sessions that all read each other's records stop a large cluster, and are taken for dead", () => {
  const of = (refreshForEach: number | undefined) => {
    const design = { ...mended, finding: "shares", looksAtFirst: true, refreshForEach } as const;
    return simulateScale(
      settings({ design, workers: 1_200, servers: 600, load: 0.001, warmUp: 9, counted: 4 }),
    );
  };
  const quadratic = of(0);
  expect(quadratic.use.system).toBeGreaterThan(0.99);
  expect(quadratic.counts.sessionsTakenForDead).toBeGreaterThan(0);
  const told = of(undefined);
  expect(told.use.system).toBeLessThan(0.2);
  expect(told.counts.sessionsTakenForDead).toBe(0);
});

test("tables, drawings and options", () => {
  const run = (design: typeof mended) => ({
    name: design.name,
    result: simulateScale(settings({ design, counted: 0.5 })),
  });
  const results = [run(throughStore), run(throughCoordinator)];
  const table = tableOf(results).split("\n");
  expect(table).toHaveLength(4);
  expect(new Set(table.map((line) => line.split("|").length)).size).toBe(1);
  expect(chartOf(results)).toContain("<svg");
  const options = parseOptions(["--study", "scale", "--workers", "1,20"]);
  expect(options.workers).toEqual([1, 20]);
  const runs = studies.flatMap((study) => study.runs({ seed: "1", workers: [10], designs: ["mended"] }));
  expect(runs.length).toBeGreaterThan(30);
});
