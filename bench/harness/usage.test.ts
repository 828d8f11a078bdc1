import type { Database } from "percolatordb";
import { expect, test } from "vitest";
import { measureUse, ProcessWatch } from "./usage.js";

/** A store that reports the current values of these statistics. */
const storeWith = (statistics: Record<string, number>) => ({
  status: () =>
    Promise.resolve({ statistics: { ...statistics } } as unknown as Awaited<ReturnType<Database["status"]>>),
});

test("use is the difference between two moments, as a share of the time", async () => {
  const statistics = { writeLockWaitMs: 5, flushMs: 7 };
  const end = await measureUse(storeWith(statistics));
  await new Promise((resolve) => setTimeout(resolve, 50));
  statistics.writeLockWaitMs += 25;
  const use = await end();
  expect(use.seconds).toBeGreaterThanOrEqual(0.049);
  expect(use.lockWaitShare).toBeCloseTo(0.025 / use.seconds, 3);
  expect(use.flushShare).toBe(0);
  expect(use.cpuSeconds).toBeGreaterThan(0);
  expect(use.loopShare).toBeLessThanOrEqual(1);
});

test("statistics that the store does not report are left out", async () => {
  const end = await measureUse(storeWith({}));
  expect((await end()).lockWaitShare).toBeUndefined();
});

test.skipIf(process.platform !== "linux")(
  "a watch reports the memory and the processor time of a process",
  () => {
    const watch = new ProcessWatch([process.pid]);
    const before = process.cpuUsage();
    const used = () => process.cpuUsage(before).user + process.cpuUsage(before).system;
    while (used() < 60_000);
    const { memoryMiB, cpuSeconds } = watch.end();
    expect(memoryMiB).toBeGreaterThan(10);
    expect(cpuSeconds).toBeGreaterThan(0.02);
  },
);
