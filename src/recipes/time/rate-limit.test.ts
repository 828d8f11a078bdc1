import fc from "fast-check";
import { open } from "percolatordb";
import { TestClock } from "percolatordb/testing";
import { describe, expect, test } from "vitest";
import { variants, withDatabase } from "../../../test/support/databases.js";
import { RateLimitError, rateLimit } from "../index.js";

describe.each(variants)("on $store, $commit", (variant) => {
  test("however many callers take tokens at once, no more succeed than there are tokens", async () => {
    const clock = new TestClock();
    const limit = rateLimit("limit", { perSecond: 10, burst: 5, environment: clock.process() });
    await withDatabase(variant, { tables: [limit.table] }, async (db) => {
      const takeAtOnce = () =>
        Promise.all(Array.from({ length: 9 }, () => db.transact((tx) => limit.take(tx, "a"))));
      const granted = async () => (await takeAtOnce()).filter(({ isGranted }) => isGranted).length;
      expect(await granted()).toBe(5);
      await clock.advance(200);
      expect(await granted()).toBe(2);
      await clock.advance(60_000);
      expect(await granted()).toBe(5);
      expect((await db.transact((tx) => limit.take(tx, "another"))).isGranted).toBe(true);
    });
  });
});

test("a refused caller learns when to try again, and then succeeds", async () => {
  const clock = new TestClock();
  const limit = rateLimit("limit", { perSecond: 2, burst: 1, environment: clock.process() });
  await using db = await open("memory:");
  await db.transact((tx) => limit.take(tx, "a"));
  const { isGranted, waitMs } = await db.transact((tx) => limit.take(tx, "a"));
  expect([isGranted, waitMs]).toEqual([false, expect.closeTo(500, 2)]);
  await clock.advance(waitMs);
  expect(await db.transact((tx) => limit.take(tx, "a"))).toEqual({
    isGranted: true,
    waitMs: expect.closeTo(0, 2),
  });
});

test.each([3, 7, 11, 13, 17])(
  "a caller that asks again after the told time succeeds, whatever doubles can hold: %s per second",
  async (perSecond) => {
    const clock = new TestClock();
    // The told times are no whole numbers of milliseconds. A clock moves by such times only here.
    let now = clock.process().now();
    const environment = Object.assign(clock.process(), { now: () => now });
    const limit = rateLimit("limit", { perSecond, burst: 1, environment });
    await using db = await open("memory:");
    await db.transact((tx) => limit.take(tx, "a"));
    for (let round = 0; round < 20; round++) {
      const refused = await db.transact((tx) => limit.take(tx, "a"));
      expect(refused.isGranted).toBe(false);
      now += refused.waitMs;
      expect((await db.transact((tx) => limit.take(tx, "a"))).isGranted).toBe(true);
    }
  },
);

test("waiting callers succeed one after another, in the order of their requests", async () => {
  const clock = new TestClock();
  const environment = clock.process();
  const limit = rateLimit("limit", { perSecond: 1, burst: 2, environment });
  await using db = await open("memory:", { environment, tables: [limit.table] });
  const through: [number, number][] = [];
  const asking = Array.from({ length: 6 }, async (_, n) => {
    await limit.acquire(db, "a", { maxWaitMs: 3_000 });
    through.push([n, Math.round(clock.passedMs)]);
  });
  const refused = expect(asking[5]).rejects.toThrow(RateLimitError);
  await clock.until(Promise.allSettled(asking));
  await refused;
  expect(through).toEqual([
    [0, 0],
    [1, 0],
    [2, 1_000],
    [3, 2_000],
    [4, 3_000],
  ]);
  await expect(asking[5]).rejects.toMatchObject({
    code: "LIMIT_EXCEEDED",
    limit: "limit",
    waitMs: expect.closeTo(1_000, 0),
  });
});

test("a signal ends the wait", async () => {
  const clock = new TestClock();
  const environment = clock.process();
  const limit = rateLimit("limit", { perSecond: 1, burst: 1, environment });
  await using db = await open("memory:", { environment, tables: [limit.table] });
  await limit.acquire(db, "a");
  const controller = new AbortController();
  const waiting = limit.acquire(db, "a", { maxWaitMs: 10_000, signal: controller.signal });
  const refused = expect(waiting).rejects.toThrow("enough");
  await clock.advance(100);
  controller.abort(new Error("enough"));
  await refused;
});

test("if one caller aborts its wait, no caller behind it overtakes those ahead", async () => {
  const limit = rateLimit("limit", { perSecond: 10 });
  await using db = await open("memory:", { tables: [limit.table] });
  const transact = db.transact.bind(db);
  let begun = 0;
  let answer = () => {};
  const answers = new Promise<void>((resolve) => {
    answer = resolve;
  });
  // A store that does not answer yet.
  db.transact = (run, options) => {
    begun++;
    return answers.then(() => transact(run, options));
  };
  const giveUp = new AbortController();
  const first = limit.acquire(db, "a");
  const givenUp = limit.acquire(db, "a", { signal: giveUp.signal });
  const last = limit.acquire(db, "a");
  giveUp.abort(new Error("enough"));
  await expect(givenUp).rejects.toThrow("enough");
  await new Promise((resolve) => setImmediate(resolve));
  expect(begun).toBe(1);
  answer();
  await Promise.all([first, last]);
  expect(begun).toBe(2);
});

test("in any period no more tokens are taken than were saved up and refilled, whatever is requested", async () => {
  const asked = fc.record({
    afterMs: fc.integer({ min: 0, max: 700 }),
    tokens: fc.integer({ min: 1, max: 3 }),
  });
  await fc.assert(
    fc.asyncProperty(
      fc.array(asked, { maxLength: 15 }),
      fc.integer({ min: 0, max: 1_000 }),
      async (asks, maxWaitMs) => {
        const clock = new TestClock();
        const limit = rateLimit("limit", { perSecond: 4, burst: 3, environment: clock.process() });
        await using db = await open("memory:");
        const uses: { readonly at: number; readonly tokens: number }[] = [];
        for (const { afterMs, tokens } of asks) {
          await clock.advance(afterMs);
          const taken = await db.transact((tx) => limit.take(tx, "a", { tokens, maxWaitMs }));
          expect(taken.waitMs).toBeGreaterThanOrEqual(0);
          if (taken.isGranted) uses.push({ at: clock.passedMs + taken.waitMs, tokens });
        }
        for (const [first, { at: start }] of uses.entries()) {
          let sum = 0;
          for (const { at, tokens } of uses.slice(first)) {
            sum += tokens;
            expect(sum).toBeLessThanOrEqual(3 + ((at - start) * 4) / 1_000 + 0.01);
          }
        }
      },
    ),
    { numRuns: 40 },
  );
});

test("invalid options are refused", async () => {
  expect(() => rateLimit("limit", { perSecond: 0 })).toThrow("`perSecond` must be a number");
  const limit = rateLimit("limit", { perSecond: 1, burst: 2 });
  await using db = await open("memory:");
  await expect(db.transact((tx) => limit.take(tx, "a", { tokens: 3 }))).rejects.toThrow("`tokens`");
});
