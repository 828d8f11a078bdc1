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
