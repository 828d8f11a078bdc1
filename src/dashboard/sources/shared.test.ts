import { expect, test } from "vitest";
import { TestClock } from "../../testing/index.js";
import { Shared } from "./shared.js";

test("a value is computed once for several callers, and again after its time", async () => {
  const clock = new TestClock();
  let works = 0;
  const shared = new Shared(clock.process(), 1_000, async () => ++works);
  expect(await Promise.all([shared.get(), shared.get()])).toEqual([1, 1]);
  await clock.advance(999);
  expect(await shared.get()).toBe(1);
  await clock.advance(1);
  expect(await shared.get()).toBe(2);
});

test("a long computation runs less often, and never twice at once", async () => {
  const clock = new TestClock();
  const environment = clock.process();
  let works = 0;
  const shared = new Shared(environment, 1_000, async () => {
    await new Promise<void>((resolve) => environment.setTimer(resolve, 2_000));
    return ++works;
  });
  const first = shared.get();
  await clock.advance(1_500);
  const second = shared.get();
  await clock.advance(500);
  expect(await Promise.all([first, second])).toEqual([1, 1]);
  await clock.advance(5_000);
  expect(await shared.get()).toBe(1);
  await clock.advance(1_000);
  const third = shared.get();
  await clock.advance(2_000);
  expect(await third).toBe(2);
});

test("a failure is not kept for later callers", async () => {
  const clock = new TestClock();
  let works = 0;
  const shared = new Shared(clock.process(), 1_000, async () => {
    if (++works === 1) throw new Error("mine");
    return works;
  });
  await expect(shared.get()).rejects.toThrow("mine");
  expect(await shared.get()).toBe(2);
});

test("a value of a long computation is not stale, unless the computation is late or has failed", async () => {
  const clock = new TestClock();
  const environment = clock.process();
  let [works, lastsMs, fails] = [0, 2_000, false];
  const shared = new Shared(environment, 1_000, async () => {
    const number = ++works;
    await new Promise<void>((resolve) => environment.setTimer(resolve, lastsMs));
    if (fails) throw new Error("mine");
    return number;
  });
  const asked = async () => {
    const answer = shared.newest(500);
    await clock.advance(500);
    const found = await answer;
    await clock.advance(14_500);
    return found;
  };
  expect(await asked()).toEqual({ value: undefined, isStale: true });
  // Each answer has what was computed since the one before.
  expect(await asked()).toEqual({ value: 1, isStale: false });
  expect(await asked()).toEqual({ value: 2, isStale: false });
  fails = true;
  expect(await asked()).toEqual({ value: 3, isStale: false });
  expect(await asked()).toEqual({ value: 3, isStale: true });
  expect(await asked()).toEqual({ value: 3, isStale: true });
  [fails, lastsMs] = [false, 40_000];
  expect(await asked()).toEqual({ value: 3, isStale: true });
  expect(await asked()).toEqual({ value: 3, isStale: true });
  await clock.advance(30_000);
  lastsMs = 100;
  expect((await asked()).value).toBe(7);
  await clock.advance(160_000);
  expect(await asked()).toEqual({ value: 8, isStale: false });
  lastsMs = 40_000;
  await asked();
  expect(await asked()).toEqual({ value: 8, isStale: true });
});
