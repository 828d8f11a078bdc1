import { describe, expect, test, vi } from "vitest";
import { countHints, type TestDatabase } from "../../../test/support/observer/context.js";
import { databasesOf } from "../../../test/support/observer/started.js";
import { ObserverError, SchemaError } from "../../errors/index.js";
import { family, int, signal, table, text } from "../../schema/index.js";
import { allColumns } from "../../store/index.js";
import { check, SnapshotReader } from "../../transaction/index.js";
import { backfill, listParked, observer, parkedTable, rowObservers, unregister } from "../index.js";
import { AdaptiveConcurrency } from "../worker/concurrency.js";

const boxes = table("boxes", {
  width: int(),
  height: int(),
  depth: int(),
  labels: family(text()),
  poke: signal(),
  volume: int(),
});
const others = table("others", { width: int() });
const { width, height, depth, labels, volume } = boxes;

const start = databasesOf({ tables: [boxes] });

/** Observers of the volume, and the rows for which they were called. */
function volumes(more: () => void | Promise<void> = () => {}) {
  const rows: string[] = [];
  const observers = rowObservers("volume", [width, height, depth], async (tx, { row }) => {
    rows.push(row);
    const box = await tx.row(boxes, row);
    await more();
    tx.set(volume, row, (box?.width ?? 0) * (box?.height ?? 0) * (box?.depth ?? 0));
  });
  return { rows, observers };
}

async function parkedColumns(db: TestDatabase): Promise<string[]> {
  const columns: string[] = [];
  for await (const { column } of listParked(db.registry)) columns.push(column);
  return columns.sort();
}

/** How many entries the table of parked changes has, also those of which no record tells. */
async function parkedEntries(db: TestDatabase): Promise<number> {
  const reader = new SnapshotReader(db.context, await db.context.oracle.next());
  const { rows } = await reader.range({ table: parkedTable, columns: allColumns });
  return rows.flatMap(({ cells }) => cells.filter(({ value }) => value !== undefined)).length;
}

const outcomes = (db: TestDatabase) => db.runs.map(({ outcome }) => outcome);
const volumeOf = (db: TestDatabase, row: string) => db.transact((tx) => tx.get(volume, row));
const fill = (db: TestDatabase, row: string, sides: readonly [number, number, number]) =>
  db.transact((tx) => {
    for (const [index, column] of [width, height, depth].entries()) tx.set(column, row, sides[index]!);
  });

describe.each(["one-phase", "two-phase"] as const)("row observers, committing in %s", (commit) => {
  test("one run handles all columns that a transaction has changed", async () => {
    const { rows, observers } = volumes();
    const db = await start({ commit, observers });
    await fill(db, "a", [2, 3, 4]);
    expect(await countHints(db.store)).toEqual({ "volume-depth": 1, "volume-height": 1, "volume-width": 1 });
    await db.pool.drain();
    expect(await volumeOf(db, "a")).toBe(24);
    await db.context.background.settled();
    expect(await countHints(db.store)).toEqual({});
    const [run] = db.registry.recent.runs();
    expect(
      run!.handled.map(({ observer: name, upTo }) => [name, upTo === run!.handled[0]!.upTo]).sort(),
    ).toEqual([
      ["volume-depth", true],
      ["volume-height", true],
      ["volume-width", true],
    ]);
    await fill(db, "a", [1, 1, 5]);
    await db.pool.drain();
    await db.transact((tx) => tx.delete(depth, "a"));
    await db.pool.drain();
    expect(await volumeOf(db, "a")).toBe(0);
    expect(rows).toEqual(["a", "a", "a"]);
    expect(outcomes(db)).toEqual(["committed", "committed", "committed"]);
    expect(await check(db.context, ["boxes", parkedTable])).toEqual([]);
  });

  test("changes during a run wait for it, and are handled by one more", async () => {
    let change: (() => Promise<unknown>) | undefined;
    const { rows, observers } = volumes(async () => {
      const now = change;
      change = undefined;
      await now?.();
    });
    const db = await start({ commit, observers });
    const worker = db.pool.work();
    change = async () => {
      await fill(db, "a", [5, 5, 5]);
      await fill(db, "a", [5, 5, 6]);
      await new Promise((resolve) => setImmediate(resolve));
    };
    await fill(db, "a", [1, 2, 3]);
    await worker.idle();
    expect(await volumeOf(db, "a")).toBe(150);
    expect(rows).toEqual(["a", "a"]);
    expect(outcomes(db)).toEqual(["committed", "committed"]);
    await worker.stop();
  });

  test("the concurrency adapts to runs, and not to changes that wait for one", async () => {
    using ended = vi.spyOn(AdaptiveConcurrency.prototype, "ended");
    const db = await start({ commit, observers: volumes().observers });
    const worker = db.pool.work();
    for (const row of ["a", "b"]) await fill(db, row, [1, 2, 3]);
    await worker.idle();
    await worker.stop();
    expect(ended).toHaveBeenCalledTimes(db.runs.length);
  });

  test("a backfill of all of them makes one run for each row", async () => {
    const writer = await start({ commit });
    for (const row of ["a", "b"]) await fill(writer, row, [1, 2, 3]);
    const { rows, observers } = volumes();
    const db = await start({ commit, store: writer.store, observers });
    for (const { name } of observers) {
      await backfill(db.registry, name);
      await db.pool.drain();
    }
    expect(rows.sort()).toEqual(["a", "b"]);
    expect(await volumeOf(db, "b")).toBe(6);
    await db.context.background.settled();
    expect(await countHints(db.store)).toEqual({});
  });

  test("a failing row is parked for each column, and the next run that succeeds handles all", async () => {
    const observers = rowObservers(
      "volume",
      [width, height, depth],
      async (tx, { row }) => {
        if ((await tx.get(width, row)) === 13) throw new Error("unlucky");
        tx.set(volume, row, 1);
      },
      { attempts: 2, backoff: { initialMs: 1, maximumMs: 2 } },
    );
    const db = await start({ commit, observers });
    await fill(db, "a", [13, 1, 1]);
    await fill(db, "b", [1, 1, 1]);
    await db.pool.drain();
    expect(await volumeOf(db, "b")).toBe(1);
    expect(await parkedColumns(db)).toEqual(["depth", "height", "width"]);
    await db.transact((tx) => tx.set(width, "a", 12));
    await db.pool.drain();
    expect(await volumeOf(db, "a")).toBe(1);
    expect(await parkedColumns(db)).toEqual([]);
    expect(await parkedEntries(db)).toBe(0);
    expect(outcomes(db).filter((outcome) => outcome === "committed")).toHaveLength(2);
    expect(await check(db.context, ["boxes", parkedTable])).toEqual([]);
  });

  test("an observer that was unregistered, or is not run by this version, keeps its records", async () => {
    const { rows, observers } = volumes();
    const old = await start({ commit, observers });
    await unregister(old.registry, "volume-depth");
    await fill(old, "a", [1, 2, 3]);
    expect(await countHints(old.store)).toEqual({ "volume-height": 1, "volume-width": 1 });
    await old.pool.drain();
    expect(rows).toEqual(["a"]);
    // Another version of one of them is another program's.
    const newer = rowObservers("volume", [height], () => {}, { version: 2 });
    const db = await start({ commit, store: old.store, observers: newer });
    await fill(old, "a", [2, 2, 3]);
    await expect(old.pool.drain()).rejects.toThrow(/no live process runs: "volume-height" \(1\)/);
    await old.context.background.settled();
    // It no longer runs them, and says so.
    expect(old.failures.splice(0).length).toBeGreaterThan(0);
    expect(rows).toEqual(["a", "a"]);
    expect(await countHints(db.store)).toEqual({ "volume-height": 1 });
    await db.pool.drain();
    await db.context.background.settled();
    expect(await countHints(db.store)).toEqual({});
  });

  test("a run handles what has changed, or what an earlier version has handled, and gets no value", async () => {
    const first = await start({ commit, observers: volumes().observers });
    const handledBy = (db: TestDatabase) =>
      db.registry.recent.runs().map(({ handled }) => handled.map(({ observer: name }) => name).sort());
    await first.transact((tx) => tx.set(width, "a", 2));
    await first.pool.drain();
    await first.transact((tx) => tx.set(height, "a", 3));
    await first.pool.drain();
    expect(handledBy(first)).toEqual([["volume-width"], ["volume-height"]]);
    const changes: object[] = [];
    const observers = rowObservers("volume", [width, height, depth], (_tx, each) => void changes.push(each), {
      version: 2,
    });
    const db = await start({ commit, store: first.store, observers });
    await backfill(db.registry, "volume-width");
    await db.pool.drain();
    expect(handledBy(db)).toEqual([["volume-height", "volume-width"]]);
    expect(changes).toMatchObject([{ row: "a", value: undefined, previous: undefined }]);
  });

  test("runs of two declarations on one row do not wait for one another", async () => {
    let running = 0;
    let release = () => {};
    const gate = new Promise<void>((resolve) => {
      release = resolve;
    });
    const run = async () => {
      if (++running === 2) release();
      await gate;
    };
    const observers = ["one", "other"].flatMap((name) => rowObservers(name, [width, height], run));
    const db = await start({ commit, observers });
    await fill(db, "a", [1, 2, 3]);
    await db.pool.drain();
    expect(outcomes(db)).toEqual(["committed", "committed"]);
  });

  test("each cell of a family has a run, and the columns have one, all at the same time", async () => {
    let running = 0;
    let release = () => {};
    const gate = new Promise<void>((resolve) => {
      release = resolve;
    });
    const observers = rowObservers("all", [labels, width, height], async () => {
      if (++running === 3) release();
      await gate;
    });
    const db = await start({ commit, observers });
    await db.transact((tx) => {
      tx.set(labels.at("x"), "a", "one");
      tx.set(labels.at("y"), "a", "two");
      tx.set(width, "a", 1);
      tx.set(height, "a", 1);
    });
    await db.pool.drain();
    await db.context.background.settled();
    expect(await countHints(db.store)).toEqual({});
    expect(outcomes(db)).toEqual(["committed", "committed", "committed"]);
  });

  test("a run that always writes what it watches is parked", async () => {
    const observers = rowObservers("grow", [width, height], async (tx, { row }) => {
      tx.set(width, row, ((await tx.get(width, row)) ?? 0) + 1);
      tx.set(height, row, ((await tx.get(height, row)) ?? 0) + 1);
    });
    const db = await start({ commit, observers });
    await db.transact((tx) => tx.set(width, "a", 1));
    await db.pool.drain();
    expect(await parkedColumns(db)).toEqual(["height", "width"]);
  });
});

test("of many changed rows, each has one run, and no run conflicts", async () => {
  const { rows, observers } = volumes();
  const doubled = observer("doubled", volume, (tx, { row, value }) =>
    tx.set(others.width, row, 2 * (value ?? 0)),
  );
  const db = await start({ tables: [boxes, others], observers: [...observers, doubled] });
  const worker = db.pool.work();
  await db.transact((tx) => {
    for (let row = 0; row < 200; row++) {
      for (const column of [width, height, depth]) tx.set(column, `r${row}`, 2);
    }
  });
  await worker.idle();
  expect(rows).toHaveLength(200);
  expect(new Set(outcomes(db))).toEqual(new Set(["committed"]));
  expect(await db.transact((tx) => tx.get(others.width, "r7"))).toBe(16);
  await worker.stop();
});

test("`concurrency` counts the runs of all of them, and not those that wait for another", async () => {
  const most = { running: 0, atOnce: 0 };
  const observers = rowObservers(
    "slow",
    [width, height, depth],
    async () => {
      most.atOnce = Math.max(most.atOnce, ++most.running);
      for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
      most.running--;
    },
    { concurrency: 2 },
  );
  const db = await start({ observers });
  for (const [index, column] of [width, height, depth].entries()) {
    await db.transact((tx) => tx.set(column, `one column ${index}`, 1));
  }
  await db.pool.drain();
  expect(most).toEqual({ running: 0, atOnce: 2 });
  for (const column of [width, height, depth]) {
    await db.transact((tx) => tx.set(column, "all columns", 1));
  }
  await db.transact((tx) => tx.set(width, "another row", 1));
  most.atOnce = 0;
  await db.pool.drain();
  expect(most.atOnce).toBe(2);
  expect(outcomes(db)).toHaveLength(5);
  // The progress of `drain` counts runs, and not what waited for them.
  expect(db.pool.board.completed).toBe(5);
});

test.each([
  ["no columns", () => rowObservers("o", [], () => {}), ObserverError, /1 to 100 columns/],
  ["no array", () => rowObservers("o", width as never, () => {}), ObserverError, /1 to 100 columns/],
  [
    "a signal",
    () => rowObservers("o", [width, boxes.poke as never], () => {}),
    ObserverError,
    /not the signal poke/,
  ],
  ["no column", () => rowObservers("o", ["width" as never], () => {}), ObserverError, /not "width"/],
  [
    "columns of two tables",
    () => rowObservers("o", [width, others.width], () => {}),
    ObserverError,
    /not of boxes and others/,
  ],
  ["a column twice", () => rowObservers("o", [width, width], () => {}), ObserverError, /width twice/],
  ["one cell", () => rowObservers("o", [labels.at("x")], () => {}), ObserverError, /one cell of the family/],
  ["no function", () => rowObservers("o", [width], 1 as never), ObserverError, /must be a function/],
  ["a wrong name", () => rowObservers("o/o", [width], () => {}), SchemaError, /o\/o/],
  [
    "a wrong option",
    () => rowObservers("o", [width], () => {}, { attempts: 0 }),
    ObserverError,
    /`attempts` must be/,
  ],
])("%s: a named error", (_, declare, type, message) => {
  expect(declare).toThrow(type);
  expect(declare).toThrow(message);
});
