import { beforeEach, describe, expect, test } from "vitest";
import { documents } from "../../../test/support/observer/documents.js";
import { type Database, type OpenOptions, open } from "../../database/index.js";
import { sleep } from "../../environment/index.js";
import type { RowStore } from "../../store/index.js";
import { memoryStore } from "../../store/memory/index.js";
import { ProcessStore, TestClock, type TestProcess } from "../../testing/index.js";
import { hintTable } from "../../transaction/index.js";
import { type Observer, type ObserverOptions, observer } from "../index.js";

let clock: TestClock;
let store: RowStore;

beforeEach(() => {
  clock = new TestClock();
  store = memoryStore({ environment: clock.process() });
});

interface BegunRun {
  readonly row: string;
  readonly value: string | undefined;
  readonly goOn: (failure?: Error) => void;
}

/**
 * Holds the runs of one process. Each run waits until the test releases it, or until the test opens
 * the gate for all.
 */
class Gate {
  /** All runs that have begun, in order. */
  readonly begun: BegunRun[] = [];
  readonly #waiting = new Set<BegunRun>();
  #isOpen = false;
  readonly observer: Observer;

  constructor(options: ObserverOptions = {}) {
    this.observer = observer(
      "gated",
      documents.contents,
      async (tx, { row, value }) => {
        await new Promise<void>((resolve, reject) => {
          const goOn = (failure?: Error) => (failure === undefined ? resolve() : reject(failure));
          const run = { row, value, goOn };
          this.begun.push(run);
          if (this.#isOpen) goOn();
          else this.#waiting.add(run);
        });
        tx.set(documents.length, row, value?.length ?? 0);
      },
      options,
    );
  }

  /** The rows of the runs that have begun. */
  get rows(): readonly string[] {
    return this.begun.map(({ row }) => row);
  }

  /** Lets all runs continue, including those that begin later. */
  open(): void {
    this.#isOpen = true;
    for (const { goOn } of this.#waiting) goOn();
  }
}

async function start(
  observers: readonly Observer[],
  process: TestProcess = clock.process(),
  options: OpenOptions = {},
  reached = new ProcessStore(store, process),
): Promise<Database> {
  const all = { tables: [documents], observers, environment: process, ...options };
  return await clock.until(open(reached, all));
}

const change = (db: Database, rows: readonly string[], value = "text") =>
  clock.until(
    db.transact((tx) => {
      for (const row of rows) tx.set(documents.contents, row, value);
    }),
  );

const runsOf = (db: Database) => db.metrics.observers.gated?.runs;

async function pendingRows(db: Database): Promise<string[]> {
  const rows: string[] = [];
  for await (const { row } of db.pending()) rows.push(`${row}`);
  return rows;
}

const close = (...dbs: readonly Database[]) => clock.until(Promise.all(dbs.map((db) => db.close())));

describe("the changes of one process", () => {
  test("run in the order of their commits", async () => {
    const gate = new Gate();
    const db = await start([gate.observer]);
    db.work({ concurrency: 1 });
    await clock.advance(1_000);
    const rows = ["d", "a", "c", "b"];
    for (const row of rows) await change(db, [row]);
    gate.open();
    await clock.settle();
    expect(gate.rows).toEqual(rows);
    await close(db);
  });

  test("run one at a time for each row, with the newest value, and no more often than it changed", async () => {
    const gate = new Gate();
    const db = await start([gate.observer]);
    db.work();
    await clock.advance(1_000);
    for (const value of ["1", "22", "333"]) await change(db, ["a"], value);
    await clock.advance(1_000);
    expect(gate.begun.map(({ value }) => value)).toEqual(["1"]);
    const now = clock.passedMs;
    gate.open();
    await clock.settle();
    expect(gate.begun.map(({ value }) => value)).toEqual(["1", "333"]);
    expect(clock.passedMs).toBe(now);
    expect(runsOf(db)).toMatchObject({ committed: 2, clean: 0 });
    await close(db);
  });

  test("are not run once more for a change that the run has seen", async () => {
    store = memoryStore({ environment: clock.process(), atomicBatches: false });
    let last = 1_000;
    // The next calls of `next` wait for these, and take their timestamps only then.
    const answers: (() => Promise<void>)[] = [];
    const oracle = {
      async next() {
        await answers.shift()?.();
        return ++last;
      },
      latest: () => last,
    };
    const gate = new Gate();
    gate.open();
    const db = await start([gate.observer], clock.process(), { oracle });
    db.work({ concurrency: 1 });
    await clock.advance(1_000);
    await change(db, ["a"], "1");
    await clock.settle();
    // The run of this change begins, and waits for its timestamp. During the wait, the row changes
    // once more.
    let goOn = () => {};
    const before = db.transact((tx) => {
      tx.set(documents.contents, "a", "22");
      // The first is the commit's, the second that of the run.
      const run = new Promise<void>((resolve) => (goOn = resolve));
      answers.push(
        async () => {},
        () => run,
      );
    });
    await clock.until(before);
    await clock.settle();
    expect(gate.begun).toHaveLength(1);
    await change(db, ["a"], "333");
    goOn();
    await clock.advance(1_000);
    expect(gate.begun.map(({ value }) => value)).toEqual(["1", "333"]);
    expect(runsOf(db)).toMatchObject({ committed: 2, clean: 0 });
    await close(db);
  });

  test("that do not fit into memory run as soon as there is room, without a wait", async () => {
    const gate = new Gate();
    gate.open();
    const process = clock.process();
    const reached = new ProcessStore(store, process);
    const readRange = reached.readRange.bind(reached);
    let scans = 0;
    reached.readRange = (read, options) => {
      if (read.table === hintTable) scans++;
      return readRange(read, options);
    };
    const db = await start([gate.observer], process, {}, reached);
    db.work();
    await clock.advance(1_000);
    const rows = Array.from({ length: 3_000 }, (_, index) => `row ${index}`);
    const now = clock.passedMs;
    await change(db, rows);
    await clock.settle();
    expect(clock.passedMs).toBe(now);
    expect(runsOf(db)).toMatchObject({ committed: 3_000, clean: 0 });
    // When the queue has room for all hints, the end of a run does not start a scan.
    scans = 0;
    for (const row of rows.slice(0, 10)) await change(db, [row], "new");
    await clock.settle();
    expect([runsOf(db)?.committed, scans, clock.passedMs]).toEqual([3_010, 0, now]);
    await close(db);
  });

  test("wait for their time after a failure, and run at once if the row changes", async () => {
    const gate = new Gate({ backoff: { initialMs: 10_000, maximumMs: 10_000 } });
    const db = await start([gate.observer]);
    db.work();
    await clock.advance(1_000);
    await change(db, ["a", "b"]);
    await clock.settle();
    for (const { goOn } of gate.begun) goOn(new Error("not yet"));
    gate.open();
    await clock.advance(2_000);
    expect(gate.rows).toEqual(["a", "b"]);
    const now = clock.passedMs;
    await change(db, ["b"], "new");
    await clock.settle();
    expect([gate.rows, clock.passedMs]).toEqual([["a", "b", "b"], now]);
    await clock.advance(10_000);
    expect(gate.rows).toEqual(["a", "b", "b", "a"]);
    await close(db);
  });

  test("wait no longer than the longest backoff, even if another clock wrote a later time", async () => {
    const backoff = { initialMs: 20_000, maximumMs: 20_000 };
    const [ahead, gate] = [new Gate({ backoff }), new Gate({ backoff })];
    const first = await start([ahead.observer], clock.process({ offsetMs: 3_600_000 }));
    first.work();
    await clock.advance(1_000);
    await change(first, ["a"]);
    await clock.settle();
    ahead.begun[0]!.goOn(new Error("not yet"));
    await clock.settle();
    await close(first);
    gate.open();
    const db = await start([gate.observer]);
    db.work();
    await clock.advance(19_000);
    expect(gate.rows).toEqual([]);
    await clock.advance(2_000);
    expect(gate.rows).toEqual(["a"]);
    await close(db);
  });

  test("are not looked at once more while their end is being written", async () => {
    let deletes = 0;
    store = memoryStore({ environment: clock.process(), atomicBatches: false });
    let last = 1_000;
    const oracle = { next: async () => ++last, latest: () => last };
    const process = clock.process();
    const reached = new ProcessStore(store, process);
    const mutate = reached.mutate.bind(reached);
    reached.mutate = async (mutation, options) => {
      const isEnd = mutation.table === hintTable && mutation.mutations[0]?.type === "delete";
      if (isEnd && ++deletes > 0) await sleep(process, 2_000);
      return mutate(mutation, options);
    };
    const gate = new Gate();
    gate.open();
    const db = await start([gate.observer], process, { oracle }, reached);
    const worker = db.work();
    await clock.advance(1_000);
    await change(db, ["a", "b"]);
    await clock.advance(1_500);
    expect(await pendingRows(db)).toEqual(["a", "b"]);
    await clock.until(worker.idle());
    expect(await pendingRows(db)).toEqual([]);
    expect(deletes).toBe(2);
    expect(runsOf(db)).toMatchObject({ committed: 2, clean: 0 });
    await close(db);
  });
});

describe("changes that wait in a process", () => {
  const rows = Array.from({ length: 100 }, (_, index) => `row ${index}`);

  test("are divided with a process that begins later, and none runs twice", async () => {
    const [gate, later] = [new Gate(), new Gate()];
    const db = await start([gate.observer]);
    db.work({ concurrency: 1 });
    await clock.advance(1_000);
    await change(db, rows);
    await clock.settle();
    // The run lasts long enough to be announced in its hint, and continues in this process.
    await clock.advance(1_500);
    expect(gate.rows).toEqual(["row 0"]);
    later.open();
    const other = await start([later.observer]);
    other.work();
    await clock.advance(1_900);
    expect(later.rows.length).toBeGreaterThan(20);
    expect(later.rows.length).toBeLessThan(80);
    gate.open();
    await clock.until(db.idle());
    expect([...gate.rows, ...later.rows].sort()).toEqual([...rows].sort());
    const own = gate.rows.slice(1);
    for (const each of [db, other]) expect(runsOf(each)?.clean).toBe(0);
    // This process runs its own share of later changes at once.
    const now = clock.passedMs;
    for (let round = 0; round < 20; round++) await change(db, rows, `round ${round}`);
    await clock.settle();
    await change(db, rows, "last");
    await clock.settle();
    expect(clock.passedMs).toBe(now);
    const last = gate.begun.filter(({ value }) => value === "last").map(({ row }) => row);
    expect(last).toEqual(expect.arrayContaining(own));
    await clock.until(db.idle());
    await close(db, other);
  });

  test("do not keep a process from being idle after its worker has stopped", async () => {
    const backoff = { initialMs: 5_000, maximumMs: 5_000 };
    const [gate, later] = [new Gate({ backoff }), new Gate({ backoff })];
    const db = await start([gate.observer]);
    const worker = db.work({ concurrency: 2 });
    await clock.advance(1_000);
    await change(db, ["fails before", "fails later", "first", "second", "third"]);
    await clock.settle();
    gate.begun[0]!.goOn(new Error("not yet"));
    await clock.settle();
    const stopping = worker.stop();
    for (const { goOn } of gate.begun.slice(1)) goOn(new Error("not yet"));
    await clock.until(stopping);
    later.open();
    const other = await start([later.observer]);
    other.work();
    await clock.until(db.idle(), { maxMs: 60_000 });
    expect(later.rows).toHaveLength(5);
    await close(db, other);
  });
});
