import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { documents } from "../../../test/support/observer/documents.js";
import { type Database, open } from "../../database/index.js";
import type { RowStore } from "../../store/index.js";
import { memoryStore } from "../../store/memory/index.js";
import { TestClock } from "../../testing/index.js";
import { observer, type Worker } from "../index.js";

interface WaitingRun {
  readonly row: string;
  readonly goOn: () => void;
}

let clock: TestClock;
let db: Database;
let worker: Worker;
/** Runs that have begun, and wait for the test. */
let waiting: WaitingRun[];
let rows: number;

const gated = observer("gated", documents.contents, async (tx, { row }) => {
  await new Promise<void>((goOn) => waiting.push({ row, goOn }));
  tx.set(documents.length, row, 1);
});

beforeEach(() => {
  clock = new TestClock();
  [waiting, rows] = [[], 0];
});

afterEach(async () => {
  const stopping = worker.stop({ timeoutMs: 0 });
  await clock.advance(1);
  await endAll();
  await clock.until(stopping);
  await clock.until(db.close());
});

async function endAll(): Promise<void> {
  for (const { goOn } of waiting.splice(0)) goOn();
  await clock.settle();
}

async function start(store: RowStore, concurrency?: number): Promise<void> {
  const environment = clock.process();
  let last = 1_000;
  const oracle = store.atomic === undefined ? { next: async () => ++last, latest: () => last } : undefined;
  db = await clock.until(open(store, { environment, oracle, tables: [documents], observers: [gated] }));
  worker = db.work({ concurrency });
  await clock.advance(1_000);
}

/** A store on which concurrent commits share a flush. */
const near = () => memoryStore({ environment: clock.process() });
/** A store on which concurrent commits share no flush. */
const distant = () => memoryStore({ environment: clock.process(), atomicBatches: false });

/** Commits changes of this many new rows. The worker begins as many runs as its limit allows. */
async function change(count: number): Promise<void> {
  const changed = db.transact((tx) => {
    for (let each = 0; each < count; each++) tx.set(documents.contents, `row ${++rows}`, "text");
  });
  await clock.until(changed);
  await clock.settle();
}

/**
 * Ends this many runs, the first ones with a conflict. Returns how many run then. Time does not
 * pass in these tests, so a run that conflicted does not begin again.
 */
async function end(count: number, conflicts = 0): Promise<number> {
  for (let left = count, conflicting = conflicts; left > 0; ) {
    const ending = waiting.splice(0, left);
    expect(ending.length).toBeGreaterThan(0);
    left -= ending.length;
    const lost = ending.slice(0, conflicting);
    conflicting -= lost.length;
    if (lost.length > 0) {
      const meanwhile = db.transact((tx) => {
        for (const { row } of lost) tx.set(documents.length, row, 2);
      });
      await clock.until(meanwhile);
    }
    for (const { goOn } of ending) goOn();
    await clock.settle();
  }
  return worker.running;
}

describe("the number of concurrent runs of an observer", () => {
  test("grows to a limit while all are in use and none conflicts", async () => {
    await start(near());
    await change(10_100);
    expect(worker.running).toBe(64);
    expect(await end(127)).toBe(64);
    expect(await end(1)).toBe(96);
    expect(await end(191)).toBe(96);
    expect(await end(1)).toBe(128);
    const runs = [];
    for (let window = 0; window < 23; window++) runs.push(await end(400));
    expect(Math.max(...runs)).toBe(512);
    expect(runs.at(-1)).toBe(512);
  });

  test("stays if fewer are in use", async () => {
    await start(near());
    for (let round = 0; round < 10; round++) {
      await change(63);
      expect(await end(63)).toBe(0);
    }
    await change(200);
    expect(worker.running).toBe(64);
  });

  test("stays on a store whose commits share no flush", async () => {
    await start(distant());
    await change(1_000);
    expect(await end(900)).toBe(64);
  });

  test.each([
    { conflicts: 2, limit: 96 },
    { conflicts: 3, limit: 64 },
    { conflicts: 12, limit: 64 },
    { conflicts: 13, limit: 32 },
  ])("is $limit after 128 runs of which $conflicts conflicted", async ({ conflicts, limit }) => {
    await start(near());
    await change(500);
    expect(await end(127, conflicts)).toBe(64);
    // A new run begins only when fewer runs are in progress than the limit allows.
    expect(await end(1 + Math.max(0, 64 - limit))).toBe(limit);
  });

  test("shrinks to a few while many conflict, and grows back when conflicts end, on every store", async () => {
    await start(distant());
    await change(1_200);
    expect(await end(480, 480)).toBe(8);
    expect(await end(31)).toBe(8);
    expect(await end(1)).toBe(16);
    expect(await end(32)).toBe(32);
    expect(await end(64)).toBe(64);
    expect(await end(400)).toBe(64);
  });

  test("is fixed if the program sets it", async () => {
    await start(near(), 3);
    await change(500);
    expect(await end(200, 200)).toBe(3);
    expect(await end(200)).toBe(3);
  });
});
