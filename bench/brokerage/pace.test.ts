import { expect, test } from "vitest";
import { Pace } from "./pace.js";

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

test("an order waits while too many are not settled, in this process and others", async () => {
  const pace = new Pace(3);
  await pace.place();
  pace.learn({ orders: 2, settled: 0 });
  let placed = 0;
  const waiting = [pace.place(), pace.place()].map((each) => each.then(() => placed++));
  await turn();
  expect(placed).toBe(0);
  pace.settled();
  await turn();
  expect(placed).toBe(1);
  pace.learn({ orders: 2, settled: 1 });
  await Promise.all(waiting);
  expect(pace.progress).toEqual({ orders: 3, settled: 1 });
});

test("an order of another process that this one settles counts", async () => {
  const pace = new Pace(1);
  pace.learn({ orders: 1, settled: 0 });
  pace.settled();
  await pace.place();
  expect(pace.progress).toEqual({ orders: 1, settled: 1 });
});
