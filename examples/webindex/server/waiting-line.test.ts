import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { WaitingLine } from "./waiting-line.js";

const { signal } = new AbortController();

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

it("lets tasks wait in line, and gives each its turn in order", async () => {
  const line = new WaitingLine({ atOnce: 2, maxWaiting: 10, deadlineMs: 100 });
  const order: number[] = [];
  const run = async (number: number) => {
    const leave = await line.enter(signal);
    order.push(number);
    return leave!;
  };
  const [first, second] = await Promise.all([run(1), run(2)]);
  const waiting = [run(3), run(4), run(5)];
  await Promise.resolve();
  expect(order).toEqual([1, 2]);
  first();
  first();
  (await waiting[0]!)();
  second();
  await Promise.all(waiting);
  expect(order).toEqual([1, 2, 3, 4, 5]);
});

it("refuses tasks beyond the length of the line, and those that waited until the deadline", async () => {
  const line = new WaitingLine({ atOnce: 1, maxWaiting: 1, deadlineMs: 100 });
  const leave = await line.enter(signal);
  const late = line.enter(signal);
  expect(await line.enter(signal)).toBeUndefined();
  await vi.advanceTimersByTimeAsync(99);
  const next = Promise.race([late, Promise.resolve("waiting")]);
  expect(await next).toBe("waiting");
  await vi.advanceTimersByTimeAsync(1);
  expect(await late).toBeUndefined();
  leave!();
  expect(await line.enter(signal)).toBeDefined();
});

it("leaves no timer behind for a task whose turn came", async () => {
  const line = new WaitingLine({ atOnce: 1, maxWaiting: 1, deadlineMs: 100 });
  const leave = await line.enter(signal);
  const clear = vi.spyOn(globalThis, "clearTimeout");
  const next = line.enter(signal);
  leave!();
  expect(await next).toBeDefined();
  expect(clear).toHaveBeenCalledTimes(1);
  clear.mockRestore();
});

it("forgets an aborted task, whose turn goes to the next one", async () => {
  const line = new WaitingLine({ atOnce: 1, maxWaiting: 2, deadlineMs: 100 });
  const leave = await line.enter(signal);
  const client = new AbortController();
  const gone = line.enter(client.signal);
  const next = line.enter(signal);
  client.abort();
  expect(await gone).toBeUndefined();
  expect(await line.enter(client.signal)).toBeUndefined();
  leave!();
  expect(await next).toBeDefined();
});
