import { expect, test } from "vitest";
import { LimitExceededError } from "../errors/index.js";
import { RangeQueue } from "./range-queue.js";

test("a request that can never be served rejects, and those behind it are served", async () => {
  const queue = new RangeQueue(10);
  const answers = Promise.allSettled([1, 9, 2, 8, 3].map((count) => queue.add(count, undefined)));
  let next = 1;
  const refusal = new LimitExceededError("Too many.");
  queue.serve((count) => {
    if (count === 9) throw refusal;
    // The mark is too low for this one, and it is ahead of the last.
    if (count === 8) return undefined;
    const first = next;
    next += count;
    return { first, count };
  });
  expect(queue.isEmpty).toBe(false);
  const ended = new Error("ended");
  queue.fail(ended);
  expect(queue.isEmpty).toBe(true);
  expect(await answers).toEqual([
    { status: "fulfilled", value: { first: 1, count: 1 } },
    { status: "rejected", reason: refusal },
    { status: "fulfilled", value: { first: 2, count: 2 } },
    { status: "rejected", reason: ended },
    { status: "rejected", reason: ended },
  ]);
});
