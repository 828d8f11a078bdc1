import { expect, test } from "vitest";
import { SingleFlight } from "./index.js";

test("concurrent callers share one run; the next caller starts it again, also after a failure", async () => {
  const flight = new SingleFlight<number>();
  let runs = 0;
  const ends: ((outcome: number | Promise<never>) => void)[] = [];
  const start = () =>
    new Promise<number>((resolve) => {
      runs++;
      ends.push(resolve);
    });
  const together = [flight.run(start), flight.run(start)];
  expect(runs).toBe(1);
  expect(flight.isRunning).toBe(true);
  ends[0]!(7);
  expect(await Promise.all(together)).toEqual([7, 7]);
  expect(flight.isRunning).toBe(false);

  const failing = flight.run(start);
  let hasEnded = false;
  const ended = flight.ended().then(() => {
    hasEnded = true;
  });
  await Promise.resolve();
  expect([runs, hasEnded]).toEqual([2, false]);
  ends[1]!(Promise.reject(new Error("no")));
  await expect(failing).rejects.toThrow("no");
  await ended;
  void flight.run(start);
  expect(runs).toBe(3);
});
