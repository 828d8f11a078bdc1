import { describe, expect, test, vi } from "vitest";
import { compare, expectValue, inFlight, nextTurn, onceVerified, WrongResultError } from "./compare.js";

const spec = { name: "a measurement", unit: "things", operations: 10 };

describe("compare", () => {
  test("runs the sides in turns, the first one alternating, and counts the rounds after the first", async () => {
    const order: string[] = [];
    const side = (name: string) => ({
      run(round: number) {
        order.push(`${name}${round}`);
        return 1;
      },
    });
    const found = await compare({ ...spec, raw: side("raw"), ours: side("ours") }, 2);
    expect(order).toEqual(["raw0", "ours0", "ours1", "raw1", "raw2", "ours2", "ours3", "raw3"]);
    expect(found.samples.raw).toHaveLength(2);
    expect(found.samples.ours).toHaveLength(2);
    expect(found.ratio.count).toBe(2);
  });

  test("rounds count only once both sides are warm", async () => {
    let runs = 0;
    const slow = {
      async run() {
        runs++;
        await new Promise((resolve) => setTimeout(resolve, 5));
        return 1;
      },
    };
    const found = await compare({ ...spec, raw: slow, ours: slow }, 1, 40);
    expect(found.ratio.count).toBe(1);
    expect(runs).toBeGreaterThanOrEqual(6);
    runs = 0;
    const quick = { run: () => ++runs - runs };
    await compare({ ...spec, raw: quick, ours: quick }, 1, 1_000_000);
    expect(runs).toBe(2 * 51);
  });

  test("the ratio of a round divides our rate by the raw rate of that round", async () => {
    const side = { run: () => 1 };
    const { samples, ratio } = await compare({ ...spec, raw: side, ours: side }, 1);
    expect(ratio.median).toBeCloseTo(samples.ours[0]! / samples.raw[0]!);
  });

  test("the processor time of a unit is that of our side, in microseconds", async () => {
    let used = 0;
    const using = (us: number) => ({
      run() {
        used = us;
        return 1;
      },
    });
    const cpu = vi.spyOn(process, "cpuUsage");
    cpu.mockImplementation((before) => ({ user: before === undefined ? 0 : used, system: 0 }));
    try {
      const { ourCpuUs } = await compare({ ...spec, raw: using(50), ours: using(300) }, 3);
      expect(ourCpuUs).toMatchObject({ median: 30, low: 30, high: 30, count: 3 });
    } finally {
      cpu.mockRestore();
    }
  });

  test.skipIf(process.platform !== "linux")(
    "the processor time of servers counts for both sides",
    async () => {
      const run = () => {
        const before = process.cpuUsage();
        while (process.cpuUsage(before).user < 60_000);
        return 1;
      };
      // This process stands for a server, so that its time counts twice. The system counts in 10 ms.
      const servers = [process.pid];
      const { ourCpuUs } = await compare({ ...spec, operations: 1, servers, raw: { run }, ours: { run } }, 1);
      expect(ourCpuUs!.median).toBeGreaterThan(90_000);
    },
  );

  test("prepares before a round and verifies after it", async () => {
    const calls: string[] = [];
    const ours = {
      prepare: () => void calls.push("prepare"),
      run() {
        calls.push("run");
        return 0;
      },
      verify: () => void calls.push("verify"),
    };
    await compare({ ...spec, raw: { run: () => 0 }, ours }, 1);
    expect(calls.slice(0, 3)).toEqual(["prepare", "run", "verify"]);
    expect(calls).toHaveLength(9);
  });

  test("a check of unchanging data runs after the first round, and its failure fails the comparison", async () => {
    let checks = 0;
    const ours = { run: () => 0, verify: onceVerified(async () => void checks++) };
    await compare({ ...spec, raw: { run: () => 0 }, ours }, 3);
    expect(checks).toBe(1);
    const wrong = { run: () => 0, verify: onceVerified(() => Promise.reject(new WrongResultError("wrong"))) };
    await expect(compare({ ...spec, raw: { run: () => 0 }, ours: wrong }, 3)).rejects.toThrow("wrong");
  });

  test("refuses sides with different results, and results that are not numbers", async () => {
    const different = compare({ ...spec, raw: { run: () => 1 }, ours: { run: () => 2 } }, 1);
    await expect(different).rejects.toThrow(WrongResultError);
    const missing = compare({ ...spec, raw: { run: () => Number.NaN }, ours: { run: () => Number.NaN } }, 1);
    await expect(missing).rejects.toThrow(WrongResultError);
  });
});

test("a row with the expected value passes, one with another value or none does not", () => {
  expect(() => expectValue("row", "value", "value")).not.toThrow();
  expect(() => expectValue("row", undefined, undefined)).not.toThrow();
  expect(() => expectValue("row", "value ", "value")).toThrow(WrongResultError);
  expect(() => expectValue("row", undefined, "value")).toThrow("Row row holds nothing");
  expect(() => expectValue("row", "value", undefined)).toThrow(WrongResultError);
});

describe("inFlight", () => {
  test("runs every task once, and never more than the width at a time", async () => {
    const done: number[] = [];
    let running = 0;
    let most = 0;
    await inFlight(20, 4, async (index) => {
      most = Math.max(most, ++running);
      await nextTurn();
      running--;
      done.push(index);
    });
    expect(done.sort((a, b) => a - b)).toEqual(Array.from({ length: 20 }, (_, index) => index));
    expect(most).toBe(4);
  });

  test("stops at the first failure", async () => {
    const failing = inFlight(3, 2, async (index) => {
      if (index === 1) throw new Error("no");
    });
    await expect(failing).rejects.toThrow("no");
  });
});
