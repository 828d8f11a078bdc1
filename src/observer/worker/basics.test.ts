import { describe, expect, test } from "vitest";
import { countHints, type TestDatabase } from "../../../test/support/observer/context.js";
import { documents, length, words } from "../../../test/support/observer/documents.js";
import { databasesOf } from "../../../test/support/observer/started.js";
import { ObserverError } from "../../errors/index.js";
import { type Observer, observer } from "../index.js";

const start = databasesOf();

describe.each(["one-phase", "two-phase"] as const)("observers, committing in %s", (commit) => {
  test("an observer handles a change, and its hint is deleted", async () => {
    const db = await start({ commit, observers: [length] });
    await db.transact((tx) => tx.set(documents.contents, "a", "hello"));
    expect(await countHints(db.store)).toEqual({ length: 1 });
    await db.pool.drain();
    expect(await db.transact((tx) => tx.get(documents.length, "a"))).toBe(5);
    expect(await countHints(db.store)).toEqual({});
    expect(db.runs.map((run) => run.outcome)).toEqual(["committed"]);
  });

  test("several changes before a run count as one", async () => {
    const db = await start({ commit, observers: [length] });
    for (const contents of ["1", "22", "333"]) {
      await db.transact((tx) => tx.set(documents.contents, "a", contents));
    }
    await db.pool.drain();
    expect(await db.transact((tx) => tx.get(documents.length, "a"))).toBe(3);
    expect(db.runs.filter((run) => run.outcome === "committed")).toHaveLength(1);
    expect(await countHints(db.store)).toEqual({});
  });

  test("several observers of one column each run once", async () => {
    const db = await start({ commit, observers: [length, words] });
    await db.transact((tx) => tx.set(documents.contents, "a", "two words"));
    await db.pool.drain();
    const row = await db.transact((tx) => tx.row(documents, "a"));
    expect(row).toMatchObject({ length: 9, words: 2 });
    expect(db.runs.map((run) => `${run.observer} ${run.outcome}`).sort()).toEqual([
      "length committed",
      "words committed",
    ]);
  });

  test("each cell of a family is a separate change, with its qualifier", async () => {
    const seen: string[] = [];
    const lengths = observer("lengths", documents.anchors, (tx, { row, value, qualifier, column }) => {
      seen.push(`${row}:${qualifier}:${column.qualifier}=${value}`);
      tx.set(documents.anchorLengths.at(qualifier), row, value?.length ?? 0);
    });
    const db = await start({ commit, observers: [lengths] });
    await db.transact((tx) => {
      tx.set(documents.anchors.at("x\0y"), "a", "one");
      tx.set(documents.anchors.at(""), "a", "three");
    });
    await db.pool.drain();
    await db.transact((tx) => tx.set(documents.anchors.at(""), "a", "four"));
    await db.pool.drain();
    expect(seen.sort()).toEqual(["a::=four", "a::=three", "a:x\0y:x\0y=one"].sort());
    const row = await db.transact((tx) => tx.row(documents, "a"));
    expect([...row!.anchorLengths]).toEqual([
      ["", 4],
      ["x\0y", 3],
    ]);
  });

  test("`previous` is the value at the last run, and a delete is a change", async () => {
    const seen: (string | undefined)[][] = [];
    const watcher = observer("watcher", documents.contents, (_tx, { value, previous }) => {
      seen.push([previous, value]);
    });
    const db = await start({ commit, observers: [watcher] });
    const write = (value: string | undefined) =>
      db.transact((tx) =>
        value === undefined ? tx.delete(documents.contents, "a") : tx.set(documents.contents, "a", value),
      );
    await write("1");
    await db.pool.drain();
    await write("2");
    await write("3");
    await db.pool.drain();
    await write(undefined);
    await db.pool.drain();
    await write("4");
    await db.pool.drain();
    expect(seen).toEqual([
      [undefined, "1"],
      ["1", "3"],
      ["3", undefined],
      [undefined, "4"],
    ]);
  });

  test("values that are too long for their record are read, also as `previous`", async () => {
    const seen: number[] = [];
    const watcher = observer("watcher", documents.contents, (_tx, { value, previous }) => {
      seen.push(previous?.length ?? 0, value?.length ?? 0);
    });
    const db = await start({ commit, observers: [watcher] });
    for (const size of [50_000, 60_000]) {
      await db.transact((tx) => tx.set(documents.contents, "a", "x".repeat(size)));
      await db.pool.drain();
    }
    expect(seen).toEqual([0, 50_000, 50_000, 60_000]);
  });

  test("an observer's writes trigger other observers, and `drain` waits for all of them", async () => {
    const second = observer("second", documents.length, (tx, { row, value }) => {
      tx.set(documents.poked, row, (value ?? 0) * 2);
    });
    const db = await start({ commit, observers: [length, second] });
    await db.transact((tx) => {
      for (let index = 0; index < 50; index++) tx.set(documents.contents, `row ${index}`, "x".repeat(index));
    });
    await db.pool.drain();
    const doubled = await db.transact((tx) =>
      tx.getMany(
        documents.poked,
        Array.from({ length: 50 }, (_, index) => `row ${index}`),
      ),
    );
    expect(doubled).toEqual(Array.from({ length: 50 }, (_, index) => index * 2));
  });

  test("an observer that writes the column it watches is due again, until it settles", async () => {
    const trimming = observer("trimming", documents.contents, (tx, { row, value }) => {
      if (value?.endsWith(" ")) tx.set(documents.contents, row, value.slice(0, -1));
    });
    const db = await start({ commit, observers: [trimming] });
    await db.transact((tx) => tx.set(documents.contents, "a", "x   "));
    await db.pool.drain();
    expect(await db.transact((tx) => tx.get(documents.contents, "a"))).toBe("x");
    expect(db.runs.filter((run) => run.outcome === "committed")).toHaveLength(4);
  });

  test("a signal's observer runs after each notification, and gets no value", async () => {
    const poked = observer("poked", documents.poke, async (tx, { row, value, previous, qualifier }) => {
      expect([value, previous, qualifier]).toEqual([undefined, undefined, undefined]);
      tx.set(documents.poked, row, ((await tx.get(documents.poked, row)) ?? 0) + 1);
    });
    const db = await start({ commit, observers: [poked] });
    for (const expected of [1, 2]) {
      await db.transact((tx) => tx.notify(documents.poke, "a"));
      await db.pool.drain();
      expect(await db.transact((tx) => tx.get(documents.poked, "a"))).toBe(expected);
    }
    expect(await countHints(db.store)).toEqual({});
  });

  test("a worker runs committed changes at once, without a scan", async () => {
    const db = await start({ commit, observers: [length] });
    await using worker = db.pool.work();
    await worker.idle();
    for (let index = 0; index < 200; index++) {
      await db.transact((tx) => tx.set(documents.contents, `row ${index}`, "x"));
    }
    await worker.idle();
    expect(db.runs.filter((run) => run.outcome === "committed")).toHaveLength(200);
  });

  test("runs that conflict are repeated until each has counted once", async () => {
    const counting = observer("counting", documents.contents, async (tx) => {
      tx.set(documents.words, "total", ((await tx.get(documents.words, "total")) ?? 0) + 1);
    });
    const db = await start({ commit, observers: [counting] });
    await db.transact((tx) => {
      for (let index = 0; index < 40; index++) tx.set(documents.contents, `row ${index}`, "x");
    });
    await db.pool.drain();
    expect(await db.transact((tx) => tx.get(documents.words, "total"))).toBe(40);
  });

  test("a writer without observers leaves hints, and a worker leaves those of observers that it does not have", async () => {
    const first = await start({ commit, observers: [length, words] });
    const writer = await start({ commit, store: first.store, tables: [documents] });
    await writer.transact((tx) => tx.set(documents.contents, "a", "b c"));
    expect(await countHints(first.store)).toEqual({ length: 1, words: 1 });
    const half = await start({ commit, store: first.store, observers: [length] });
    const worker = half.pool.work();
    await worker.idle();
    expect(await countHints(first.store)).toEqual({ words: 1 });
    await worker.stop();
    const drained = half.pool.drain();
    await expect(drained).rejects.toThrow(ObserverError);
    await expect(half.pool.drain()).rejects.toThrow(/no live process runs: "words" \(1\)/);
    await first.pool.drain();
    expect(await first.transact((tx) => tx.row(documents, "a"))).toMatchObject({ length: 3, words: 2 });
  });

  test("`drain` counts all hints of an observer that no process runs", async () => {
    const first = await start({ commit, observers: [length] });
    const writer = await start({ commit, store: first.store, tables: [documents] });
    await writer.transact((tx) => {
      for (let index = 0; index < 40; index++) tx.set(documents.contents, `row ${index}`, "x");
    });
    await first.close();
    await expect(writer.pool.drain()).rejects.toThrow(/no live process runs: "length" \(40\)/);
  });

  test("`drain` in a process without observers waits for the worker of another", async () => {
    const working = await start({ commit, observers: [length] });
    const writer = await start({ commit, store: working.store });
    await using worker = working.pool.work();
    await worker.idle();
    await writer.transact((tx) => tx.set(documents.contents, "a", "abc"));
    await writer.pool.drain();
    expect(await writer.transact((tx) => tx.get(documents.length, "a"))).toBe(3);
  });

  test("`drain` resolves at once if nothing is due, and may be called twice at the same time", async () => {
    const db = await start({ commit, observers: [length] });
    await db.pool.drain();
    await db.transact((tx) => tx.set(documents.contents, "a", "abc"));
    await Promise.all([db.pool.drain(), db.pool.drain()]);
    expect(db.pool.worked.size).toBe(0);
    expect(await db.transact((tx) => tx.get(documents.length, "a"))).toBe(3);
  });

  test("the scan finds changes that do not fit into the queue", async () => {
    const db = await start({ commit, observers: [length], queueLimit: 4 });
    const worker = db.pool.work({ concurrency: 2 });
    await worker.idle();
    await db.transact((tx) => {
      for (let index = 0; index < 300; index++) tx.set(documents.contents, `row ${index}`, "x");
    });
    await worker.idle();
    await worker.stop();
    expect(db.runs.filter((run) => run.outcome === "committed")).toHaveLength(300);
    expect(await countHints(db.store)).toEqual({});
  });

  test("concurrency is limited, per worker and per observer, and a higher priority runs first", async () => {
    const running = { slow: 0, maxSlow: 0, all: 0, maxAll: 0 };
    const order: string[] = [];
    const run = (name: string) => async () => {
      order.push(name);
      running.all++;
      running.maxAll = Math.max(running.maxAll, running.all);
      if (name === "slow") running.maxSlow = Math.max(running.maxSlow, ++running.slow);
      await new Promise((resolve) => setTimeout(resolve, 5));
      if (name === "slow") running.slow--;
      running.all--;
    };
    const slow = observer("slow", documents.contents, run("slow"), { concurrency: 2, priority: 5 });
    const low = observer("low", documents.contents, run("low"), { priority: -1 });
    const db = await start({ commit, observers: [low, slow] });
    await db.transact((tx) => {
      for (let index = 0; index < 12; index++) tx.set(documents.contents, `row ${index}`, "x");
    });
    const worker = db.pool.work({ concurrency: 5 });
    await worker.idle();
    await worker.stop();
    expect(running.maxSlow).toBe(2);
    expect(running.maxAll).toBe(5);
    expect(order.filter((name) => name === "slow")).toHaveLength(12);
  });

  test("two workers in two sessions on one store share the work, and handle each change once", async () => {
    let runs = 0;
    const counted = observer("counted", documents.contents, (tx, { row }) => {
      runs++;
      tx.set(documents.length, row, 1);
    });
    const one = await start({ commit, observers: [counted] });
    const other = await start({ commit, store: one.store, observers: [counted] });
    const workers = [one.pool.work(), other.pool.work()];
    await Promise.all(workers.map((worker) => worker.idle()));
    await one.sessions.refresh();
    for (let index = 0; index < 200; index++) {
      await one.transact((tx) => tx.set(documents.contents, `row ${index}`, "x"));
    }
    await Promise.all(workers.map((worker) => worker.idle()));
    const committed = (db: TestDatabase) => db.runs.filter((run) => run.outcome === "committed").length;
    expect(committed(one) + committed(other)).toBe(200);
    expect(committed(one)).toBeGreaterThan(20);
    expect(committed(other)).toBeGreaterThan(20);
    expect(runs).toBeLessThan(220);
    await Promise.all(workers.map((worker) => worker.stop()));
  });

  test("two workers in one process share the queue", async () => {
    const db = await start({ commit, observers: [length] });
    const workers = [db.pool.work({ concurrency: 1 }), db.pool.work({ concurrency: 1 })];
    await db.transact((tx) => {
      for (let index = 0; index < 100; index++) tx.set(documents.contents, `row ${index}`, "x");
    });
    await workers[0]!.idle();
    expect(db.runs.filter((run) => run.outcome === "committed")).toHaveLength(100);
    await Promise.all(workers.map((worker) => worker.stop()));
  });

  test("a serializable observer conflicts on what it read", async () => {
    let seen = 0;
    const observers: Observer[] = [];
    const holder: { db?: TestDatabase } = {};
    const reading = observer(
      "reading",
      documents.contents,
      async (tx, { row }) => {
        const read = (await tx.get(documents.words, "other")) ?? 0;
        if (seen++ === 0) await holder.db!.transact((inner) => inner.set(documents.words, "other", 7));
        tx.set(documents.length, row, read);
      },
      { isolation: "serializable" },
    );
    observers.push(reading);
    const db = await start({ commit, observers });
    holder.db = db;
    await db.transact((tx) => tx.set(documents.contents, "a", "x"));
    await db.pool.drain();
    expect(await db.transact((tx) => tx.get(documents.length, "a"))).toBe(7);
    expect(db.runs.map((run) => run.outcome)).toEqual(["conflict", "committed"]);
  });

  test("`drain` and `idle` end when their signal is aborted, and the work continues", async () => {
    let release = () => {};
    const gate = new Promise<void>((resolve) => {
      release = resolve;
    });
    const waiting = observer("waiting", documents.contents, () => gate);
    const db = await start({ commit, observers: [waiting] });
    const worker = db.pool.work();
    await db.transact((tx) => tx.set(documents.contents, "a", "x"));
    const controller = new AbortController();
    const drained = db.pool.drain({ signal: controller.signal });
    const idle = worker.idle({ signal: controller.signal });
    const refused = [expect(drained).rejects, expect(idle).rejects].map((promise) =>
      promise.toMatchObject({ code: "ABORTED" }),
    );
    controller.abort(new Error("enough"));
    await Promise.all(refused);
    release();
    await worker.idle();
    await worker.stop();
    expect(await countHints(db.store)).toEqual({});
  });

  test("a stopped worker begins nothing new, and waits for its runs", async () => {
    const begun: string[] = [];
    let release = () => {};
    const gate = new Promise<void>((resolve) => {
      release = resolve;
    });
    const waiting = observer("waiting", documents.contents, async (_tx, { row }) => {
      begun.push(row);
      await gate;
    });
    const db = await start({ commit, observers: [waiting] });
    const worker = db.pool.work({ concurrency: 1 });
    await worker.idle();
    await db.transact((tx) => {
      tx.set(documents.contents, "a", "x");
      tx.set(documents.contents, "b", "x");
    });
    while (begun.length === 0) await new Promise((resolve) => setImmediate(resolve));
    const stopped = worker.stop();
    release();
    await stopped;
    expect(begun).toHaveLength(1);
    expect(await countHints(db.store)).toEqual({ waiting: 1 });
    await db.pool.drain();
    expect(begun).toHaveLength(2);
  });

  test("a stopped worker waits for the run of a change that came during a run of the same cell", async () => {
    const gates: (() => void)[] = [];
    let ended = 0;
    const waiting = observer("waiting", documents.contents, async () => {
      await new Promise<void>((resolve) => gates.push(resolve));
      ended++;
    });
    const db = await start({ commit, observers: [waiting] });
    const worker = db.pool.work();
    const begun = async () => {
      while (gates.length === 0) await new Promise((resolve) => setImmediate(resolve));
    };
    await db.transact((tx) => tx.set(documents.contents, "a", "x"));
    await begun();
    await db.transact((tx) => tx.set(documents.contents, "a", "y"));
    gates.shift()!();
    await begun();
    expect(worker.running).toBe(1);
    const stopped = worker.stop().then(() => ended);
    await new Promise((resolve) => setImmediate(resolve));
    gates.shift()!();
    expect(await stopped).toBe(2);
  });

  test("stopping with a deadline aborts runs, which count for nothing", async () => {
    const reasons: unknown[] = [];
    const stuck = observer("stuck", documents.contents, async (_tx, { signal }) => {
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      reasons.push(signal.reason);
    });
    const db = await start({ commit, observers: [stuck] });
    const worker = db.pool.work();
    await db.transact((tx) => tx.set(documents.contents, "a", "x"));
    while (worker.running === 0) await new Promise((resolve) => setImmediate(resolve));
    await worker.stop({ timeoutMs: 5 });
    expect(reasons).toHaveLength(1);
    expect(await countHints(db.store)).toEqual({ stuck: 1 });
    expect(db.runs).toEqual([]);
  });
});
