import { describe, expect, test } from "vitest";
import { describeReport } from "./describe.js";
import {
  concludeSide,
  type FullRun,
  type KillRun,
  type PacedRun,
  type PeerReport,
  processorRatioOf,
  spreadOf,
} from "./report.js";

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

  test("takes three flushes off the median delay of each run", () => {
    const slower = { ...paced, delays: [50, 60, 70], flushMs: 4 };
    const side = concludeSide({ full: [full(1)], paced: [slower, paced, paced], light: slower, kills: [] });
    expect(side).toMatchObject({
      beyondFlushesMs: { median: 24, high: 36 },
      flushMs: 2,
      delayMs: { p50: 30 },
      light: { beyondFlushesMs: { median: 48 } },
    });
  });

  test("counts what is wrong in any run, and after a kill only what stays wrong", () => {
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

test("the ratio of processor time stands beside the other side's, and is left out where it is not known", () => {
  const ours = [full(1, { cpuSeconds: 2 }), full(1, { cpuSeconds: 4 })];
  const theirs = [full(1, { cpuSeconds: 6 }), full(1, { cpuSeconds: 4 })];
  expect(processorRatioOf(ours, theirs)).toEqual({ median: 2, low: 1.5, high: 2.5 });
  expect(processorRatioOf(ours, [full(1), full(1, { cpuSeconds: undefined })])).toBeUndefined();
  expect(processorRatioOf([full(1, { cpuSeconds: undefined })], theirs.slice(0, 1))).toBeUndefined();
});

test("the report says where the floors were missed, and what was stuck", () => {
  const all: KillRun = { ...killed, killed: "all processes" };
  const side = concludeSide({ full: [full(1)], paced: [paced], light: paced, kills: [all] });
  const stuck: KillRun = {
    ...killed,
    stuckJobs: 7,
    afterSeconds: 20,
    wrong: 9,
    unlocked: { seconds: 1, wrong: 0 },
  };
  const report: PeerReport = {
    configuration: {
      date: "",
      node: "",
      postgres: "15",
      graphileWorker: "0.16.6",
      system: "",
      cpu: "",
      cpus: 2,
      memoryGiB: 8,
      sources: [],
      rounds: 1,
      processes: 2,
      workers: 2,
      concurrency: 4,
      batches: { extract: 16 },
      settings: ["jit=off"],
    },
    pages: 100,
    percolator: side,
    postgres: { ...side, afterKill: [stuck, all] },
    rebuild: { seconds: 1, pagesPerSecond: 100, memoryMiB: undefined },
    ratio: spreadOf([1, 2, 3]),
    processorRatio: spreadOf([1.5]),
    floor: 5,
    ceilingMs: 10,
  };
  const text = describeReport(report);
  expect(text).toContain("2.00 (1.50 to 2.50) times the pages (5 wanted: NOT reached)");
  expect(text).toContain("24.0 (24.0 to 24.0) ms beyond 3 of them in a row (10 ms at the most: NOT kept)");
  expect(text).toContain("after 20 s 7 jobs locked by the dead (for up to 4 hours), 9 cells wrong");
  expect(text).toContain("PostgreSQL   one worker killed: 3.0 s");
  expect(text).toContain("PostgreSQL   all processes but the server killed: 3.0 s");
  expect(text).toContain("percolatordb all processes killed: 3.0 s");
  expect(describeReport({ ...report, ratio: spreadOf([6]) })).toContain("5 wanted: reached");
});
