import { open, systemEnvironment } from "percolatordb";
import { memoryStore } from "percolatordb/memory";
import { expect, test } from "vitest";
import type { Overview, Workers } from "../../src/dashboard/api/index.js";
import type { ReportSource } from "../../src/dashboard/index.js";
import { served, tables, titles } from "./pipeline.js";

test("a worker that reports nothing is said to be not seen, and has its vitals", async () => {
  const store = memoryStore();
  const environment = { ...systemEnvironment, processName: "elsewhere/7" };
  const one = await open(store, { tables, observers: [titles], collectEveryMs: 0 });
  const other = await open(store, { tables, observers: [titles], collectEveryMs: 0, environment });
  const workers = [one.work(), other.work()];
  await using dashboard = await served(one);
  await expect.poll(async () => (await dashboard.get<Overview>("overview")).unseen).toEqual(["elsewhere/7"]);
  const find = async () =>
    (await dashboard.get<Workers>("workers")).sessions.find(({ process }) => process === "elsewhere/7");
  await expect.poll(async () => (await find())?.clockOffsetMs, { timeout: 30_000 }).toBeTypeOf("number");
  const found = (await find())!;
  expect(Math.abs(found.clockOffsetMs!)).toBeLessThan(5_000);
  expect(found).toMatchObject({ isLive: true, observers: ["titles"] });
  expect(found.runsPerSecond).toBeUndefined();
  expect(found.vitals!.memoryBytes).toBeGreaterThan(1_000_000);
  expect(found.vitals!.upMs).toBeGreaterThan(0);
  await Promise.all(workers.map((worker) => worker.stop()));
  await other.close();
  await one.close();
});

test("a source that does not answer holds up the views once, and not again", async () => {
  let asked = 0;
  const stopped: ReportSource = {
    name: "stopped",
    reports: (_, signal) => {
      asked++;
      return new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
    },
  };
  const db = await open("memory:", { tables, collectEveryMs: 0 });
  await using dashboard = await served(db, { sources: [stopped] });
  const workers = () => dashboard.get<Workers>("workers");
  await workers();
  await expect
    .poll(async () => (await workers()).unheard, { timeout: 20_000 })
    .toMatchObject([{ name: "stopped" }]);
  // Each further request for reports is answered while the source is still being asked.
  await expect
    .poll(
      async () => {
        await workers();
        return asked;
      },
      { timeout: 40_000, interval: 100 },
    )
    .toBeGreaterThanOrEqual(2);
  const begun = performance.now();
  await workers();
  expect(performance.now() - begun).toBeLessThan(1_500);
  await db.close();
});
