import { systemEnvironment } from "percolatordb";
import { Pause, TestClock } from "percolatordb/testing";
import { expect, test } from "vitest";
import { Delivery } from "./delivery.js";

const { signal } = new AbortController();
const one = { count: 1, bytes: 0 };

test("entries that arrive during a delivery are sent together afterwards, up to a limit", async () => {
  const sent: (readonly number[])[] = [];
  const pause = new Pause();
  const delivery = new Delivery<number>(
    async (entries) => {
      sent.push(entries);
      if (sent.length === 1) await pause.here();
    },
    4,
    systemEnvironment,
  );
  const delivering = [[1], [2, 3], [4, 5], [6, 7, 8, 9, 10], [11]].map((entries) =>
    delivery.deliver({ count: entries.length, bytes: 0 }, () => entries, signal),
  );
  pause.resume();
  await Promise.all(delivering);
  expect(sent).toEqual([[1], [2, 3, 4, 5], [6, 7, 8, 9, 10], [11]]);
});

test("keys with large entries share no call", async () => {
  const sent: (readonly number[])[] = [];
  const delivery = new Delivery<number>(
    (entries) => {
      sent.push(entries);
    },
    10,
    systemEnvironment,
  );
  const MiB = 1024 * 1024;
  const delivering = [1, 3, 5, 1, 20, 2].map((size) =>
    delivery.deliver({ count: 1, bytes: size * MiB }, () => [size], signal),
  );
  await Promise.all(delivering);
  expect(sent).toEqual([[1], [3, 5], [1], [20], [2]]);
});

test("keys that come back soon after a slow call share the next one", async () => {
  const clock = new TestClock();
  const environment = clock.process();
  const sleep = (ms: number) => new Promise<void>((resolve) => environment.setTimer(resolve, ms));
  const sent: number[] = [];
  const delivery = new Delivery<number>(
    async (entries) => {
      sent.push(entries.length);
      await sleep(200);
    },
    100,
    environment,
  );
  const backlogOf = async (key: number) => {
    for (let n = 0; n < 5; n++) {
      await delivery.deliver(one, () => [key], signal);
      // The commit, and the next run.
      await sleep(1 + key);
    }
  };
  await clock.until(Promise.all(Array.from({ length: 10 }, (_, key) => backlogOf(key))));
  expect(sent).toEqual([1, 9, 10, 10, 10, 10]);
  // A key alone does not wait.
  const begunAt = clock.passedMs;
  sent.length = 0;
  await clock.until(backlogOf(0));
  expect([sent, clock.passedMs - begunAt]).toEqual([[1, 1, 1, 1, 1], 5 * 201 + 20]);
});

test("if several fail together, each is retried alone, and only those fail that fail alone", async () => {
  const sent: (readonly number[])[] = [];
  const delivery = new Delivery<number>(
    (entries) => {
      sent.push(entries);
      if (entries.includes(3)) throw new Error("Not 3.");
    },
    10,
    systemEnvironment,
  );
  const delivering = [[1], [2], [3], [4]].map((entries) =>
    delivery.deliver({ count: entries.length, bytes: 0 }, () => entries, signal),
  );
  const ends = await Promise.allSettled(delivering);
  expect(ends.map(({ status }) => status)).toEqual(["fulfilled", "fulfilled", "rejected", "fulfilled"]);
  expect(sent).toEqual([[1], [2, 3, 4], [2], [3], [4]]);
});

test("a delivery without a waiting caller is aborted, and the next one continues", async () => {
  const controller = new AbortController();
  const given: AbortSignal[] = [];
  const delivery = new Delivery<number>(
    (entries, options) => {
      given.push(options.signal);
      return entries.includes(1) ? new Promise<void>(() => {}) : undefined;
    },
    10,
    systemEnvironment,
  );
  const hanging = delivery.deliver(one, () => [1], controller.signal);
  const waiting = delivery.deliver(one, () => [2], signal);
  const neverSent = delivery.deliver(one, () => [3], controller.signal);
  controller.abort(new Error("It took too long."));
  await expect(hanging).rejects.toThrow("It took too long.");
  await expect(neverSent).rejects.toThrow("It took too long.");
  await waiting;
  expect(given.map(({ aborted }) => aborted)).toEqual([true, false]);
});
