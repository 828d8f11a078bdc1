import { expect, test } from "vitest";
import { TestClock } from "../testing/index.js";
import { Pace } from "./pace.js";

test("at most the rate is done in a second, after the first step", async () => {
  const clock = new TestClock();
  const pace = new Pace(clock.process(), 40);
  const doneAt: number[] = [];
  for (let step = 0; step < 9; step++) {
    await clock.until(pace.wait(undefined, "The test"));
    pace.count(10);
    doneAt.push(clock.passedMs);
  }
  expect(doneAt).toEqual([0, 250, 500, 750, 1_000, 1_250, 1_500, 1_750, 2_000]);
});

test("time in which nothing was done is not made up for", async () => {
  const clock = new TestClock();
  const pace = new Pace(clock.process(), 10);
  pace.count(1);
  await clock.advance(60_000);
  for (let step = 0; step < 3; step++) {
    await clock.until(pace.wait(undefined, "The test"));
    pace.count(1);
  }
  expect(clock.passedMs).toBe(60_200);
});

test("a step is small if the rate is low, and never empty", () => {
  const environment = new TestClock().process();
  const atOnce = (rate: number | undefined) => new Pace(environment, rate).atOnce(256);
  expect([undefined, 100_000, 400, 4, 0.5].map(atOnce)).toEqual([256, 256, 100, 1, 1]);
});

test("without a rate nothing waits, and an abort ends a wait at once", async () => {
  const clock = new TestClock();
  const free = new Pace(clock.process(), undefined);
  free.count(1_000_000);
  await free.wait(undefined, "The test");
  const pace = new Pace(clock.process(), 1);
  pace.count(1_000);
  const stop = new AbortController();
  const waiting = pace.wait(stop.signal, "The test");
  stop.abort();
  await expect(waiting).rejects.toMatchObject({ code: "ABORTED" });
  expect(clock.passedMs).toBe(0);
});
