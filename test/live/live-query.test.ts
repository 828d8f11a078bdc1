import { type Database, int, open, table } from "percolatordb";
import { memoryStore } from "percolatordb/memory";
import { TestClock } from "percolatordb/testing";
import { describe, expect, test } from "vitest";
import { temporaryFolder } from "../support/databases.js";
import { patienceMs } from "../support/waiting.js";
import { collect, counted, next, settle } from "./live-values.js";

const counters = table("counters", { value: int() });
const tables = [counters];

const set = (db: Database, row: string, value: number) =>
  db.transact((tx) => tx.set(counters.value, row, value));

const nothing = { queries: 0, followed: 0, tables: 0, logged: 0 };

describe("what a consumer gets", () => {
  test("a slow consumer gets the latest value, and nothing runs until it asks", async () => {
    await using db = await open("memory:", { tables });
    const query = counted(db, (snapshot) => snapshot.get(counters.value, "a"));
    const first = await query.next();
    const witness = db.live((snapshot) => snapshot.get(counters.value, "a"));
    await next(witness);
    for (let value = 1; value <= 20; value++) {
      const seen = next(witness);
      await set(db, "a", value);
      await seen;
    }
    expect(query.runs).toBe(1);
    const second = await query.next();
    expect(second.value).toBe(20);
    expect(second.timestamp).toBeGreaterThan(first.timestamp);
    expect(query.runs).toBe(2);
    await query.end();
    await witness.return();
  });

  test("the first value has everything that was committed before", async () => {
    await using db = await open("memory:", { tables });
    for (let value = 1; value <= 50; value++) {
      await set(db, "a", value);
      const query = db.live((snapshot) => snapshot.get(counters.value, "a"));
      expect((await next(query)).value).toBe(value);
      await query.return();
    }
  });

  test("a value that deeply equals the last one is left out", async () => {
    await using db = await open("memory:", { tables });
    const parity = counted(db, async (snapshot) => ({
      isOdd: ((await snapshot.get(counters.value, "a")) ?? 0) % 2 === 1,
    }));
    expect((await parity.next()).value).toEqual({ isOdd: false });
    const waiting = parity.next();
    await settle();
    const witness = db.live((snapshot) => snapshot.get(counters.value, "a"));
    await next(witness);
    const seen = next(witness);
    await set(db, "a", 2);
    await seen;
    await set(db, "a", 3);
    expect((await waiting).value).toEqual({ isOdd: true });
    const { delivered, unchanged } = db.metrics.liveRuns;
    expect(delivered).toBeGreaterThanOrEqual(4);
    expect(unchanged).toBeGreaterThanOrEqual(1);
    await parity.end();
    await witness.return();
  });

  test("`throttleMs` is the least time between two values, and what changed meanwhile comes together", async () => {
    const clock = new TestClock();
    const process = clock.process({ name: "p" });
    const store = memoryStore({ environment: process });
    const db = await clock.until(open(store, { environment: process, tables, collectEveryMs: 0 }));
    const query = counted(db, (snapshot) => snapshot.get(counters.value, "a"), { throttleMs: 1_000 });
    await clock.until(query.next());
    let value: number | undefined;
    const second = query.next().then((found) => {
      value = found.value;
    });
    await clock.advance(500);
    for (const each of [1, 2, 3]) await clock.until(set(db, "a", each));
    await clock.advance(400);
    expect(value).toBeUndefined();
    await clock.advance(200);
    await second;
    expect(value).toBe(3);
    await clock.until(query.end());
    await clock.until(db.close());
  });
});

test("a query that waits for changes of a store in memory looks for them four times a second", async () => {
  const clock = new TestClock();
  const environment = clock.process();
  const store = memoryStore({ environment });
  const counter = store.atomic!.counter;
  let looks = 0;
  store.atomic!.counter = () => {
    looks++;
    return counter();
  };
  await using db = await open(store, { environment, tables });
  const query = db.live((snapshot) => snapshot.get(counters.value, "a"));
  await query.next();
  const later = next(query);
  while (db.liveSizes.followed < 1) await clock.advance(1);
  looks = 0;
  await clock.advance(60_000);
  // A look has a cost, for the clock of a test too: it moves from one to the next.
  expect(looks).toBeGreaterThan(200);
  expect(looks).toBeLessThan(300);
  await clock.until(set(db, "a", 1));
  expect((await clock.until(later)).value).toBe(1);
  await query.return();
});

describe("how a live query ends", () => {
  test("`return` ends it at once, also while a `next` waits, and everything is released", async () => {
    await using db = await open("memory:", { tables });
    const query = db.live((snapshot) => snapshot.get(counters.value, "a"));
    await next(query);
    const waiting = query.next();
    while (db.liveSizes.followed < 1) await settle();
    await query.return();
    expect(await waiting).toEqual({ done: true, value: undefined });
    expect(await query.next()).toEqual({ done: true, value: undefined });
    expect(db.liveSizes).toEqual(nothing);
    expect(db.metrics.liveQueries).toBe(0);
  });

  test("calls of `next` at the same time get one value each, in their order, and `return` ends the rest", async () => {
    await using db = await open("memory:", { tables });
    const query = db.live((snapshot) => snapshot.get(counters.value, "a"));
    const calls = Array.from({ length: 5 }, () => query.next());
    for (const value of [undefined, 1, 2]) {
      if (value !== undefined) await set(db, "a", value);
      expect((await calls.shift())?.value).toMatchObject({ value });
    }
    await query.return();
    const done = { done: true, value: undefined };
    expect(await Promise.all(calls)).toEqual([done, done]);
    expect(db.liveSizes).toEqual(nothing);
  });

  test("an error fails one of the calls of `next` that wait, and ends the others", async () => {
    await using db = await open("memory:", { tables });
    const query = db.live(() => {
      throw new RangeError("at once");
    });
    const [first, ...others] = await Promise.allSettled([query.next(), query.next(), query.next()]);
    expect(first).toMatchObject({ status: "rejected", reason: { message: "at once" } });
    const done = { status: "fulfilled", value: { done: true, value: undefined } };
    expect(others).toEqual([done, done]);
    expect(db.liveSizes).toEqual(nothing);
  });

  test("`throw` ends it with the error, also before the first `next`", async () => {
    await using db = await open("memory:", { tables });
    for (const isBegun of [false, true]) {
      const query = db.live((snapshot) => snapshot.get(counters.value, "a"));
      if (isBegun) await query.next();
      const waiting = isBegun ? query.next() : undefined;
      await expect(query.throw(new RangeError("enough"))).rejects.toThrow("enough");
      expect((await (waiting ?? query.next())).done).toBe(true);
      expect(db.liveSizes).toEqual(nothing);
    }
  });

  test("a signal that was aborted before ends it before its function runs", async () => {
    await using db = await open("memory:", { tables });
    let runs = 0;
    const query = db.live(() => ++runs, { signal: AbortSignal.abort() });
    await expect(query.next()).rejects.toMatchObject({ code: "ABORTED" });
    expect((await query.next()).done).toBe(true);
    expect(runs).toBe(0);
    expect(db.liveSizes).toEqual(nothing);
  });

  test("its signal and the close of the database end it, and a loop that ends releases it", async () => {
    const db = await open("memory:", { tables });
    const controller = new AbortController();
    const aborted = db.live((snapshot) => snapshot.get(counters.value, "a"), { signal: controller.signal });
    const closed = db.live((snapshot) => snapshot.get(counters.value, "a"));
    await next(aborted);
    await next(closed);
    for await (const { value } of db.live((snapshot) => snapshot.get(counters.value, "a"))) {
      expect(value).toBeUndefined();
      expect(db.metrics.liveQueries).toBe(3);
      break;
    }
    expect(db.metrics.liveQueries).toBe(2);
    const failures = Promise.allSettled([aborted.next(), closed.next()]);
    await settle();
    controller.abort();
    await settle();
    await db.close();
    expect((await failures).map((each) => (each.status === "rejected" ? each.reason.code : ""))).toEqual([
      "ABORTED",
      "CLOSED",
    ]);
    expect(db.liveSizes).toEqual(nothing);
    expect(() => db.live(() => 1)).toThrow("was closed");
  });

  test("its signal releases it also while nobody waits for a value", async () => {
    await using db = await open("memory:", { tables });
    const controller = new AbortController();
    const query = db.live((snapshot) => snapshot.get(counters.value, "a"), { signal: controller.signal });
    await next(query);
    controller.abort();
    expect(db.liveSizes).toEqual(nothing);
    await expect(query.next()).rejects.toMatchObject({ code: "ABORTED" });
    expect((await query.next()).done).toBe(true);
    expect(db.liveSizes).toEqual(nothing);
  });

  test("its signal releases it also if it is aborted just before a value is given", async () => {
    await using db = await open("memory:", { tables });
    const controller = new AbortController();
    db.on("liveRun", ({ outcome }) => {
      if (outcome === "delivered") controller.abort();
    });
    const query = db.live((snapshot) => snapshot.get(counters.value, "a"), { signal: controller.signal });
    expect((await next(query)).value).toBe(undefined);
    await settle();
    expect(db.liveSizes).toEqual(nothing);
    await expect(query.next()).rejects.toMatchObject({ code: "ABORTED" });
  });

  test("an error of the function ends it", async () => {
    await using db = await open("memory:", { tables });
    const query = db.live(async (snapshot) => {
      if ((await snapshot.get(counters.value, "a")) === 1) throw new RangeError("one");
      return 0;
    });
    await next(query);
    const waiting = query.next();
    waiting.catch(() => undefined);
    await set(db, "a", 1);
    await expect(waiting).rejects.toThrow(new RangeError("one"));
    expect(await query.next()).toEqual({ done: true, value: undefined });
    expect(db.liveSizes).toEqual(nothing);
    const thrown = db.live(() => {
      throw new RangeError("at once");
    });
    await expect(thrown.next()).rejects.toThrow("at once");
    expect(db.metrics.liveRuns.failed).toBe(2);
  });

  test("a function that never ends is stopped after `timeoutMs`", async () => {
    await using db = await open("memory:", { tables });
    let late: Promise<unknown> | undefined;
    const query = db.live(
      async (snapshot) => {
        await new Promise((resolve) => setTimeout(resolve, 30));
        late = snapshot.get(counters.value, "a");
        await late;
      },
      { timeoutMs: 1 },
    );
    await expect(query.next()).rejects.toMatchObject({
      code: "TIMEOUT",
      message: expect.stringContaining("The function of `db.live` did not finish within 1 ms"),
    });
    while (late === undefined) await new Promise((resolve) => setTimeout(resolve, 5));
    await expect(late).rejects.toMatchObject({ code: "CLOSED" });
  });

  test("`timeoutMs` is for each run: a query goes on for longer", async () => {
    const clock = new TestClock();
    await using db = await open("memory:", { tables, environment: clock.process() });
    const query = db.live((snapshot) => snapshot.get(counters.value, "a"), { timeoutMs: 2_000 });
    await query.next();
    const later = next(query);
    while (db.liveSizes.followed < 1) await clock.advance(1);
    await clock.advance(2_200);
    await clock.until(set(db, "a", 1));
    expect((await clock.until(later)).value).toBe(1);
    await query.return();
  });

  test("a function that reads too much is told so, even if it catches the error", async () => {
    await using db = await open("memory:", { tables });
    const rows = Array.from({ length: 100_001 }, (_, index) => `row ${index}`);
    const wide = db.live(
      async (snapshot) => {
        await snapshot.getMany(counters.value, rows).catch(() => undefined);
      },
      { timeoutMs: patienceMs },
    );
    await expect(wide.next()).rejects.toMatchObject({
      code: "LIMIT_EXCEEDED",
      message: expect.stringContaining("more than 100000 cells"),
    });
    const atLimit = db.live((snapshot) => snapshot.getMany(counters.value, rows.slice(1)), {
      timeoutMs: patienceMs,
    });
    expect((await next(atLimit)).value).toHaveLength(100_000);
    await atLimit.return();
  });

  test("memory stays flat while thousands come and go", async () => {
    await using db = await open("memory:", { tables });
    for (let round = 0; round < 20; round++) {
      const queries = Array.from({ length: 100 }, (_, index) =>
        db.live<unknown>((snapshot) =>
          index % 2 === 0
            ? snapshot.get(counters.value, `row ${index}`)
            : collect(snapshot.scan(counters.value, { start: `row ${index}`, limit: 3 })),
        ),
      );
      await Promise.all(queries.map((query) => next(query)));
      const waiting = queries.map((query) => query.next());
      await set(db, `row ${round}`, round);
      await Promise.all(queries.map((query) => query.return()));
      await Promise.all(waiting);
      expect(db.liveSizes).toEqual(nothing);
    }
  });
});

describe("bad use", () => {
  test.each([
    ["no function", [undefined], "takes a function that gets a snapshot"],
    ["a generator", [async function* () {}], "not a generator, whose body would not run"],
    ["an unknown option", [() => 1, { every: 1 }], "has no option `every`"],
    ["a bad throttle", [() => 1, { throttleMs: -1 }], "`throttleMs` must be"],
    ["a bad timeout", [() => 1, { timeoutMs: 0 }], "`timeoutMs` must be"],
    ["a bad signal", [() => 1, { signal: 1 }], "`signal` of `db.live` must be an AbortSignal"],
  ])("%s is refused", async (_, given, message) => {
    await using db = await open("memory:", { tables });
    expect(() => db.live(...(given as [never, never]))).toThrow(message);
  });

  test("a scan that was not read is refused, and no value", async () => {
    await using db = await open("memory:", { tables });
    const query = db.live((snapshot) => snapshot.scan(counters.value));
    await expect(query.next()).rejects.toMatchObject({
      code: "INVALID_ARGUMENT",
      message: expect.stringContaining("returned a scan that it has not read"),
    });
  });

  test.each(["set", "delete", "deleteRow", "notify", "transact"])(
    "`%s` in the function is refused",
    async (call) => {
      await using db = await open("memory:", { tables });
      const query = db.live((snapshot) => {
        (snapshot as unknown as Record<string, (...given: unknown[]) => unknown>)[call]!(
          counters.value,
          "a",
          1,
        );
      });
      await expect(query.next()).rejects.toMatchObject({
        code: "INVALID_ARGUMENT",
        message: expect.stringContaining(`called \`${call}\`, but it can only read`),
      });
    },
  );

  test("a bad key is refused as in every snapshot", async () => {
    await using db = await open("memory:", { tables });
    const query = db.live((snapshot) => snapshot.get(counters.value, 1 as never));
    await expect(query.next()).rejects.toMatchObject({ code: "INVALID_KEY" });
  });

  test("a database that was opened to read cannot follow live queries", async () => {
    const folder = await temporaryFolder();
    await (await open(folder.path, { tables })).close();
    const db = await open(folder.path, { readOnly: true });
    expect(() => db.live(() => 1)).toThrow("was opened with `readOnly`, so it cannot follow a live query");
    await db.close();
    await folder.remove();
  });
});
