import { beforeEach, describe, expect, test } from "vitest";
import { documents } from "../../../test/support/observer/documents.js";
import { type Database, open } from "../../database/index.js";
import { sleep } from "../../environment/index.js";
import { int, table } from "../../schema/index.js";
import type { CommitWatch, RowStore } from "../../store/index.js";
import { memoryStore } from "../../store/memory/index.js";
import { ProcessStore, TestClock } from "../../testing/index.js";
import { hintTable } from "../../transaction/index.js";
import { observer } from "../index.js";

/** No observer watches it. */
const notes = table("notes", { count: int() });

let clock: TestClock;
/** When each look of the worker's process at hints began, in milliseconds of test time. */
let looks: number[];
/** How often the worker's process has read the counter of commits. */
let counters: number;
/** How long the store takes to answer a look, in milliseconds. */
let lookMs: number;
/** If set, answers the worker's reads of the counter instead of the store. */
let counter: (() => number | Promise<number>) | undefined;
/** Tells the worker's process of a commit, if its store does so. Undefined while nobody watches. */
let report: (() => void) | undefined;
/** Whether the store says that it reports every commit. Undefined for a store that reports none. */
let isLive: boolean | undefined;
/** When each run began. */
let runs: number[];
let store: RowStore;

beforeEach(() => {
  clock = new TestClock();
  [looks, counters, lookMs, counter, runs] = [[], 0, 0, undefined, []];
  [report, isLive] = [undefined, undefined];
  store = memoryStore({ environment: clock.process() });
});

const noted = observer("noted", documents.contents, () => {
  runs.push(clock.passedMs);
});

function watch(onCommit: () => void): CommitWatch {
  report = onCommit;
  return {
    get isLive() {
      return isLive === true;
    },
    close: () => {
      report = undefined;
    },
  };
}

/** The store as the worker's process reaches it. Others may write to it if `shared` is true. */
class WatchedStore extends ProcessStore {
  override readonly capabilities: RowStore["capabilities"];
  override readonly atomic: RowStore["atomic"];
  override readonly zeroCopy = undefined;

  constructor(
    private readonly environment: ReturnType<TestClock["process"]>,
    shared: boolean,
  ) {
    super(store, environment);
    this.capabilities = { ...store.capabilities, shared };
    const atomic = store.atomic!;
    this.atomic = {
      next: (options) => atomic.next(options),
      commit: (batch, options) => atomic.commit(batch, options),
      counter: () => {
        counters++;
        return counter === undefined ? atomic.counter() : counter();
      },
      ...(isLive === undefined ? {} : { watch }),
    };
  }

  override readRange(...[read, options]: Parameters<RowStore["readRange"]>) {
    const page = super.readRange(read, options);
    if (read.table !== hintTable) return page;
    looks.push(clock.passedMs);
    return lookMs === 0 ? page : sleep(this.environment, lookMs).then(() => page);
  }
}

async function start({ shared = true, observers = [noted] } = {}) {
  const environment = clock.process();
  const options = { tables: [documents, notes], observers };
  const db = await clock.until(open(new WatchedStore(environment, shared), { ...options, environment }));
  const process = clock.process();
  const other = await clock.until(
    open(new ProcessStore(store, process), { tables: [documents, notes], environment: process }),
  );
  const worker = db.work();
  await clock.advance(1_000);
  const close = () => clock.until(Promise.all([db.close(), other.close()]));
  return { db, other, worker, close };
}

const change = (db: Database, row = "a") =>
  clock.until(db.transact((tx) => tx.set(documents.contents, row, `${clock.passedMs}`)));
/** A commit that leaves no hint. */
const note = (db: Database) => clock.until(db.transact((tx) => tx.set(notes.count, "a", 1)));

/** Counts what happens while time passes. */
async function countDuring(ms: number, count: () => number): Promise<number> {
  const before = count();
  await clock.advance(ms);
  return count() - before;
}

describe("a commit of another process", () => {
  test("runs within 50 ms, whenever it comes", async () => {
    const { other, close } = await start();
    for (let time = 0; time < 20; time++) {
      await clock.advance(1_000 + 13 * time);
      const committed = clock.passedMs;
      await change(other);
      await clock.advance(100);
      expect(runs.at(-1)! - committed).toBeLessThanOrEqual(50);
    }
    expect(runs).toHaveLength(20);
    await close();
  });

  test("runs within 7 ms while more come", async () => {
    const { other, close } = await start();
    await change(other);
    await clock.advance(50);
    for (let commit = 0; commit < 100; commit++) {
      const committed = clock.passedMs;
      await change(other, `row ${commit}`);
      await clock.advance(7);
      expect(runs.at(-1)! - committed).toBeLessThanOrEqual(7);
    }
    expect(runs).toHaveLength(101);
    await close();
  });

  test("runs within 50 ms and the round trips if the store answers later", async () => {
    const { other, close } = await start();
    counter = async () => {
      const value = await store.atomic!.counter();
      await sleep(clock.process(), 20);
      return value;
    };
    for (let time = 0; time < 10; time++) {
      await clock.advance(1_000 + 13 * time);
      const committed = clock.passedMs;
      await change(other);
      await clock.advance(150);
      expect(runs.at(-1)! - committed).toBeLessThanOrEqual(50 + 3 * 20);
    }
    expect(runs).toHaveLength(10);
    counter = undefined;
    await close();
  });

  test("runs within 50 ms after a time in which the store could not say whether there was one", async () => {
    const { other, close } = await start();
    const failures = [
      () => {
        throw new Error("the disk is away");
      },
      () => Promise.reject(new Error("the disk is away")),
    ];
    for (const failure of failures) {
      counter = failure;
      expect(await countDuring(500, () => counters)).toBeGreaterThan(1);
      counter = undefined;
      const committed = clock.passedMs;
      await change(other);
      await clock.advance(50);
      expect(runs.at(-1)! - committed).toBeLessThanOrEqual(50);
    }
    await close();
  });
});

describe("a commit of another process that the store reports", () => {
  test("runs at once, and the counter is read less often", async () => {
    isLive = true;
    const { other, close } = await start();
    await clock.advance(2_000);
    expect(await countDuring(2_000, () => counters)).toBe(8);
    for (let time = 0; time < 10; time++) {
      await clock.advance(1_000 + 13 * time);
      const committed = clock.passedMs;
      await change(other);
      report!();
      await clock.advance(20);
      expect(runs.at(-1)).toBe(committed);
    }
    await close();
    expect(report).toBeUndefined();
  });

  test("is noticed if it comes while the counter is being read", async () => {
    isLive = true;
    const { other, close } = await start();
    await clock.advance(2_000);
    counter = async () => {
      const value = await store.atomic!.counter();
      await sleep(clock.process(), 20);
      return value;
    };
    report!();
    await clock.advance(10);
    const committed = clock.passedMs;
    await change(other);
    report!();
    // The rest of the read that was under way, another one, and that of the run's transaction.
    await clock.advance(10 + 20 + 20);
    expect(runs.at(-1)! - committed).toBeLessThanOrEqual(10 + 20 + 20);
    counter = undefined;
    await close();
  });

  test("is looked for at once, also just after a short look and while the counter is being read", async () => {
    isLive = true;
    const { other, close } = await start();
    lookMs = 5;
    counter = async () => {
      await sleep(clock.process(), 7);
      return store.atomic!.counter();
    };
    for (let time = 0; time < 5; time++) {
      await clock.advance(1_000);
      const before = looks.length;
      while (looks.length === before) await clock.advance(1);
      await clock.advance(6);
      const committed = clock.passedMs;
      await change(other, `${time}`);
      report!();
      // The look, and the counter for the run's transaction.
      await clock.advance(5 + 7);
      expect(runs.at(-1)! - committed).toBeLessThanOrEqual(5 + 7);
    }
    lookMs = 0;
    counter = undefined;
    await close();
  });

  test("makes the reads of the counter frequent for a while, and a commit of its own does not", async () => {
    isLive = true;
    const { db, other, close } = await start();
    await clock.advance(2_000);
    await note(db);
    expect(await countDuring(1_000, () => counters)).toBe(4);
    await note(other);
    report!();
    expect(await countDuring(100, () => counters)).toBeGreaterThanOrEqual(10);
    await clock.advance(5_000);
    expect(await countDuring(1_000, () => counters)).toBe(4);
    await close();
  });

  test("runs within 50 ms if reports stop", async () => {
    isLive = true;
    const { other, close } = await start();
    await clock.advance(2_000);
    isLive = false;
    await clock.advance(250);
    const committed = clock.passedMs;
    await change(other);
    await clock.advance(50);
    expect(runs.at(-1)! - committed).toBeLessThanOrEqual(50);
    await close();
  });
});

describe("looking for commits of other processes", () => {
  test("happens less often while nothing happens", async () => {
    const { other, close } = await start();
    for (let commit = 0; commit < 20; commit++) {
      await note(other);
      await clock.advance(5);
    }
    expect(await countDuring(30, () => counters)).toBeGreaterThanOrEqual(4);
    await clock.advance(1_000);
    expect(await countDuring(1_000, () => counters)).toBe(20);
    await close();
  });

  test("costs no looks at hints while this process's own observers run and commit", async () => {
    let end = () => {};
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    const long = observer("noted", documents.contents, () => ended);
    const { db, close } = await start({ observers: [long] });
    await change(db);
    await clock.advance(1_000);
    looks.length = 0;
    for (let commit = 0; commit < 100; commit++) {
      await note(db);
      await clock.advance(10);
    }
    // The worker looks every 250 ms anyway, in many places at once.
    expect(new Set(looks).size).toBeLessThanOrEqual(5);
    end();
    await close();
  });

  test("ends when the worker stops", async () => {
    const { other, worker, close } = await start();
    await clock.until(worker.stop());
    const seen = [counters, looks.length];
    await change(other);
    await clock.advance(5_000);
    expect([counters, looks.length]).toEqual(seen);
    expect(runs).toEqual([]);
    await close();
  });

  test("does not happen on a store that no other process can write to", async () => {
    const { db, close } = await start({ shared: false });
    await change(db);
    await clock.advance(1_000);
    expect(runs).toHaveLength(1);
    expect(await countDuring(1_000, () => counters)).toBe(0);
    await close();
  });
});

describe("a worker whose looks for hints take long", () => {
  test("pauses four times as long as it looked, even if others commit all the time", async () => {
    const { other, close } = await start();
    lookMs = 200;
    await clock.advance(2_000);
    const before = looks.length;
    for (let commit = 0; commit < 500; commit++) {
      await note(other);
      await clock.advance(10);
    }
    expect(looks.length - before).toBeGreaterThanOrEqual(4);
    expect(looks.length - before).toBeLessThanOrEqual(6);
    lookMs = 0;
    await close();
  });

  test("looks right after its pause if another process commits during a look or the pause", async () => {
    const { other, close } = await start();
    lookMs = 20;
    for (const afterMs of [10, 40]) {
      // While another process commits, the worker notices each commit within 5 ms, but looks for
      // hints only every 100 ms.
      for (let commit = 0; commit < 100; commit++) {
        await note(other);
        await clock.advance(5);
      }
      const looked = looks.length;
      while (looks.length === looked) {
        await note(other);
        await clock.advance(1);
      }
      const begun = looks.at(-1)!;
      await clock.advance(afterMs - (clock.passedMs - begun));
      await change(other, `after ${afterMs}`);
      const next = looks.length;
      while (looks.length === next) await clock.advance(1);
      expect(looks[next]! - begun).toBe(100);
      lookMs = 0;
      await clock.advance(1_000);
      expect(runs.length).toBeGreaterThan(0);
      lookMs = 20;
    }
    lookMs = 0;
    await close();
  });
});

test("a process that begins beside a busy one has its share at once, not after a heartbeat", async () => {
  const [rows, concurrency] = [4_000, 16];
  let [began, ended] = [0, 0];
  const openSlow = async () => {
    const environment = clock.process();
    const slow = observer("slow", documents.contents, async () => {
      began++;
      await sleep(environment, 10);
      ended++;
    });
    const options = { tables: [documents], observers: [slow], environment };
    return await clock.until(open(new WatchedStore(environment, true), options));
  };
  const [busy, joining] = [await openSlow(), await openSlow()];
  await clock.until(
    busy.transact((tx) => {
      for (let row = 0; row < rows; row++) tx.set(documents.contents, `row ${row}`, "x");
    }),
  );
  const workers = [busy.work({ concurrency })];
  await clock.advance(300);
  workers.push(joining.work({ concurrency }));
  await clock.advance(200);
  const endedBefore = ended;
  await clock.advance(500);
  expect(ended - endedBefore).toBeGreaterThan(1.8 * concurrency * 50);
  await clock.until(Promise.all(workers.map((worker) => worker.idle())));
  // Only the few changes that the busy process ran before its next scan may have run twice.
  expect(began).toBeLessThanOrEqual(rows + 4 * concurrency);
  await clock.until(Promise.all([busy.close(), joining.close()]));
});
