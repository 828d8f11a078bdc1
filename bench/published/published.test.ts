import { describe, expect, test } from "vitest";
import { withFolder } from "../harness/program.js";
import { LastWrites, runClients } from "./clients.js";
import { isRightPublished, type PublishedResult } from "./figure.js";
import { keyOf, measureKeys, rowValue } from "./keys.js";
import { type Distribution, measureYcsb, userOf, type Workload, workloads } from "./ycsb.js";
import { hashOf } from "./zipfian.js";

describe("clients", () => {
  test("count what each of them did, also while others wait", async () => {
    let steps = 0;
    const { operations } = await runClients({ clients: 7, seconds: 0.02 }, async (client) => {
      steps++;
      if (client % 2 === 0) await new Promise((resolve) => setImmediate(resolve));
      return 3;
    });
    expect(operations).toBe(3 * steps);
  });

  test("fail with the failure of a step", async () => {
    const failing = runClients({ clients: 2, seconds: 10 }, () => Promise.reject(new Error("broken")));
    await expect(failing).rejects.toThrow("broken");
  });

  test("remember the write of the last commit, in whatever order they hear of it", () => {
    const last = new LastWrites();
    last.add(1, 7, 200);
    last.add(1, 6, 100);
    last.add(2, 5, 50);
    expect([1, 2, 3].map((cell) => last.saltOf(cell))).toEqual([7, 5, 0]);
  });
});

describe("FoundationDB's tests", () => {
  test("have keys of 16 bytes and values of 8 to 100", () => {
    expect([0, 7, 999_999].map((index) => keyOf(index).length)).toEqual([16, 16, 16]);
    const lengths = Array.from({ length: 1_000 }, (_, index) => rowValue(index, index * 3).length);
    expect([Math.min(...lengths), Math.max(...lengths)]).toEqual([8, 100]);
  });

  test("run, and leave every row as its last commit left it", async () => {
    const { tests, wrong } = await withFolder("keys", (folder) =>
      measureKeys(folder, { rows: 1_000, seconds: 0.02 }),
    );
    expect(wrong).toBe(0);
    expect(tests.map(({ clients }) => clients)).toEqual([1, 1, 100, 100, 100, 100]);
    expect(tests.every(({ rate }) => rate.operations > 0)).toBe(true);
  });
});

describe("YCSB", () => {
  test("has the shares of its workload files, and its keys", () => {
    expect(workloads).toEqual({
      A: { update: 0.5, readModifyWrite: 0 },
      B: { update: 0.05, readModifyWrite: 0 },
      C: { update: 0, readModifyWrite: 0 },
      F: { update: 0, readModifyWrite: 0.5 },
    });
    expect(userOf(3)).toBe(`user${hashOf(3)}`);
  });

  test("runs, and leaves every field as its last commit left it", async () => {
    const { runs, wrong } = await withFolder("ycsb", (folder) =>
      measureYcsb(folder, { records: 50, seconds: 0.02 }),
    );
    expect(wrong).toBe(0);
    const all = (["uniform", "zipfian"] as const).flatMap((distribution): [Workload, Distribution][] =>
      (["A", "B", "C", "F"] as const).map((workload) => [workload, distribution]),
    );
    expect(runs.map(({ workload, distribution }) => [workload, distribution])).toEqual(all);
    expect(runs.every(({ rate }) => rate.operations > 0)).toBe(true);
  });
});

test("a wrong row in any part makes the result wrong", () => {
  const result = (keys: number, nexmark: number): PublishedResult => ({
    keys: { options: { rows: 1, seconds: 1 }, tests: [], wrong: keys },
    nexmark: {
      options: { events: 1, seed: 1 },
      runs: [{ queries: ["q1"], seconds: 1, cpuSeconds: 1, runs: 1, lines: 1, wrong: nexmark }],
    },
  });
  expect(isRightPublished(result(0, 0))).toBe(true);
  expect(isRightPublished(result(1, 0))).toBe(false);
  expect(isRightPublished(result(0, 1))).toBe(false);
});
