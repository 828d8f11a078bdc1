import { describe, expect, test } from "vitest";
import { summarize } from "../harness/statistics.js";
import {
  concludeSide,
  describePeer,
  type FullRun,
  type KillRun,
  type PacedRun,
  type PeerResult,
  processorRatioOf,
} from "./figure.js";

const full = (seconds: number, more: Partial<FullRun> = {}): FullRun => ({
  pages: 100,
  seconds,
  cpuSeconds: 3,
  serverCpuSeconds: undefined,
  memoryMiB: 200,
  wrong: 0,
  problems: [],
  ...more,
});
const paced: PacedRun = {
  perSecond: 10,
  delays: [10, 20, 30, 40, 50],
  unfound: 1,
  flushMs: 2,
  wrong: 0,
  problems: [],
};
const killed: KillRun = {
  killed: "one worker",
  seconds: 3,
  stuckJobs: 0,
  afterSeconds: 3,
  wrong: 0,
  unlocked: undefined,
  problems: [],
};

describe("concludeSide", () => {
  test("takes medians and quartiles over the rounds, and quantiles over the delays", () => {
    const runs = [full(1), full(2), full(4), full(5), full(10)];
    expect(concludeSide({ full: runs, paced: [paced], light: paced, kills: [killed] })).toMatchObject({
      pagesPerSecond: { median: 25, low: 20, high: 50 },
      delayMs: { p5: 12, p50: 30, p95: 48 },
      perSecond: 10,
      cpuSeconds: 3,
      serverCpuSeconds: undefined,
      memoryMiB: 200,
      wrong: 0,
    });
  });

  test("subtracts three flushes from the median delay of each run", () => {
    const slower = { ...paced, delays: [50, 60, 70], flushMs: 4 };
    const side = concludeSide({ full: [full(1)], paced: [slower, paced, paced], light: slower, kills: [] });
    expect(side).toMatchObject({
      beyondFlushesMs: { median: 24, high: 36 },
      flushMs: 2,
      delayMs: { p50: 30 },
      light: { beyondFlushesMs: { median: 48 } },
    });
  });

  test("counts errors in any run, but after a kill only those that remain", () => {
    const kills: KillRun[] = [
      { ...killed, wrong: 5, problems: ["lost"] },
      { ...killed, wrong: 70, stuckJobs: 4, unlocked: { seconds: 1, wrong: 2 } },
    ];
    const runs = [full(1, { wrong: 3, problems: ["a cell"] }), full(1)];
    const side = concludeSide({
      full: runs,
      paced: [paced, { ...paced, wrong: 100 }],
      light: { ...paced, wrong: 1_000 },
      kills,
    });
    expect(side.wrong).toBe(3 + 100 + 1_000 + 5 + 2);
    expect(side.problems).toEqual(["a cell", "lost"]);
  });
});

test("the ratio of processor time is shown with the other side's, and is left out if unknown", () => {
  const ours = [full(1, { cpuSeconds: 2 }), full(1, { cpuSeconds: 4 })];
  const theirs = [full(1, { cpuSeconds: 6 }), full(1, { cpuSeconds: 4 })];
  expect(processorRatioOf(ours, theirs)).toMatchObject({ median: 2, low: 1.5, high: 2.5 });
  expect(processorRatioOf(ours, [full(1), full(1, { cpuSeconds: undefined })])).toBeUndefined();
  expect(processorRatioOf([full(1, { cpuSeconds: undefined })], theirs.slice(0, 1))).toBeUndefined();
});

test("the tables show missed floors, and stuck jobs", () => {
  const all: KillRun = { ...killed, killed: "all processes" };
  const side = concludeSide({ full: [full(1)], paced: [paced], light: paced, kills: [all] });
  const stuck: KillRun = {
    ...killed,
    stuckJobs: 7,
    afterSeconds: 20,
    wrong: 9,
    unlocked: { seconds: 1, wrong: 0 },
  };
  const result: PeerResult = {
    configuration: {
      postgres: "15",
      graphileWorker: "0.16.6",
      sources: [],
      rounds: 1,
      batches: { extract: 16, index: 64 },
      settings: [],
    },
    pages: 100,
    percolator: side,
    onServer: side,
    postgres: { ...side, afterKill: [stuck, all] },
    rebuild: { seconds: 1, pagesPerSecond: 100, memoryMiB: undefined },
    ratio: summarize([1, 2, 3]),
    onServerRatio: summarize([1.4, 1.5]),
    processorRatio: summarize([1.5]),
  };
  const text = describePeer(result).join("\n");
  expect(text).toContain("| 2.00 | 1.50 to 2.50 | at least 2: met |");
  expect(text).toContain("| 24.0 ms | 24.0 ms to 24.0 ms | at most 5 ms: **missed** |");
  expect(text).toContain("| 42.0 ms |  | at most 50 ms: met |");
  expect(text).toContain("| 1.50 | 1.50 to 1.50 | above 1: met |");
  expect(text).toContain("| 30.0 ms |  | at most 4 ms: **missed** |");
  expect(text).toContain("| PostgreSQL | one worker | 3.00 s | 7 after 20.0 s | 9 | 0, 1.00 s later |");
  expect(text).toContain("| PostgreSQL | all processes but the server | 3.00 s |");
  expect(text).toContain("| percolatordb | all processes | 3.00 s |");
  expect(text).toContain("| percolatordb on PostgreSQL | all processes but the server | 3.00 s |");
  expect(text).toContain("| 1.45 | 1.42 to 1.48 | at least 1.5: **missed** |");
  const showing = (more: Partial<PeerResult>) => describePeer({ ...result, ...more }).join("\n");
  expect(showing({ ratio: summarize([1.99]) })).toContain("at least 2: **missed**");
  expect(showing({ onServerRatio: summarize([1.5]) })).toContain(
    "| 1.50 | 1.50 to 1.50 | at least 1.5: met |",
  );
  const configuration = { ...result.configuration, batches: { extract: 1, index: 1 } };
  expect(showing({ configuration, ratio: summarize([7.99]) })).toContain("at least 8: **missed**");
  expect(showing({ configuration, ratio: summarize([8]) })).toContain("at least 8: met");
  expect(showing({ processorRatio: summarize([1]) })).toContain("above 1: **missed**");
  const frugal = { ...side, cpuSeconds: 0.4, delayMs: { ...side.delayMs, p95: 57 } };
  expect(showing({ percolator: frugal })).toContain("at most 50 ms: **missed**");
  expect(showing({ percolator: frugal })).toContain("at most 4 ms: met");
});
