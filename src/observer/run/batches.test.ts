import { describe, expect, test, vi } from "vitest";
import { countHints, type TestDatabase } from "../../../test/support/observer/context.js";
import { databasesOf } from "../../../test/support/observer/started.js";
import { LimitExceededError, NewerValueError, ObserverError } from "../../errors/index.js";
import { bytes, type Column, columnPath, family, int, signal, table, text } from "../../schema/index.js";
import { memoryStore } from "../../store/memory/index.js";
import { check } from "../../transaction/index.js";
import { readHints, writeHintState } from "../hint/hint.js";
import { batchObserver, batchRowObservers, listParked, observer, parkedTable } from "../index.js";

const words = table("words", { text: text(), marks: family(int()), poke: signal(), seen: int() });
const lengths = table("lengths", { words: int() });

const start = databasesOf({ tables: [words, lengths] });

/** Counts words by their length, and keeps the rows of each run. */
function counts(options: Parameters<typeof batchObserver>[3] = {}, more: () => unknown = () => {}) {
  const runs: string[][] = [];
  const counting = batchObserver(
    "counts",
    words.text,
    async (tx, changes) => {
      runs.push(changes.map(({ row }) => row));
      const added = new Map<number, number>();
      const add = (value: string | undefined, n: number) => {
        if (value !== undefined) added.set(value.length, (added.get(value.length) ?? 0) + n);
      };
      for (const { value, previous } of changes) {
        add(value, 1);
        add(previous, -1);
      }
      await more();
      for (const [length, n] of added) {
        tx.set(lengths.words, String(length), ((await tx.get(lengths.words, String(length))) ?? 0) + n);
      }
    },
    options,
  );
  return { runs, counting };
}

const rows = (n: number) => Array.from({ length: n }, (_, index) => `row ${index}`);
const write = (db: TestDatabase, keys: readonly string[], value: string) =>
  db.transact((tx) => {
    for (const key of keys) tx.set(words.text, key, value);
  });
const counted = (db: TestDatabase, length: number) =>
  db.transact((tx) => tx.get(lengths.words, String(length)));
const outcomes = (db: TestDatabase) => db.runs.map(({ outcome }) => outcome);

async function parked(db: TestDatabase): Promise<unknown[]> {
  const found: unknown[] = [];
  for await (const { row, attempts } of listParked(db.registry)) found.push([row, attempts]);
  return found.sort();
}

describe.each(["one-phase", "two-phase"] as const)("batch row observers, committing in %s", (commit) => {
  /** Counts the rows of each run. Throws for rows whose text is "bad". */
  function marks() {
    const runs: string[][] = [];
    const observers = batchRowObservers(
      "marks",
      [words.text, words.marks, words.seen],
      async (tx, changes) => {
        runs.push(changes.map(({ row }) => row).sort());
        for (const { row } of changes) {
          if ((await tx.get(words.text, row)) === "bad") throw new Error("bad");
          tx.set(lengths.words, row, ((await tx.get(lengths.words, row)) ?? 0) + 1);
        }
      },
      { attempts: 1 },
    );
    return { runs, observers };
  }

  test("one run handles all changed columns of several rows, and leaves no hint", async () => {
    const { runs, observers } = marks();
    const db = await start({ commit, observers });
    await db.transact((tx) => {
      for (const row of rows(10)) {
        tx.set(words.text, row, "x");
        tx.set(words.seen, row, 1);
      }
    });
    await db.pool.drain();
    expect(runs).toEqual([rows(10)]);
    expect(db.runs.map(({ changes }) => changes)).toEqual([20]);
    await db.context.background.settled();
    expect(await countHints(db.store)).toEqual({});
    expect(await check(db.context, ["words", "lengths"])).toEqual([]);
  });

  test("a row of whose family several cells have changed is there once", async () => {
    const { runs, observers } = marks();
    const db = await start({ commit, observers });
    await db.transact((tx) => {
      for (const row of rows(3)) for (const cell of ["a", "b"]) tx.set(words.marks.at(cell), row, 1);
    });
    await db.pool.drain();
    expect(runs).toEqual([rows(3)]);
    expect(await countHints(db.store)).toEqual({});
  });

  test("only the row that fails is parked, with each of its changed columns", async () => {
    const { observers } = marks();
    const db = await start({ commit, observers });
    await db.transact((tx) => {
      for (const row of rows(8)) {
        tx.set(words.text, row, row === "row 5" ? "bad" : "x");
        tx.set(words.seen, row, 1);
      }
    });
    await db.pool.drain();
    expect(await parked(db)).toEqual([
      ["row 5", 1],
      ["row 5", 1],
    ]);
    for (const row of rows(8)) {
      const times = await db.transact((tx) => tx.get(lengths.words, row));
      expect([row, times]).toEqual([row, row === "row 5" ? undefined : 1]);
    }
  });

  test("a row that another run handles is not taken along", async () => {
    const running: string[][] = [];
    let resume = () => {};
    const first = new Promise<void>((resolve) => {
      resume = resolve;
    });
    const overlaps: string[] = [];
    const observers = batchRowObservers(
      "marks",
      [words.text, words.seen],
      async (_, changes) => {
        const own = changes.map(({ row }) => row);
        overlaps.push(...own.filter((row) => running.flat().includes(row)));
        running.push(own);
        if (running.length === 1) await first;
        running.splice(running.indexOf(own), 1);
      },
      { concurrency: 4 },
    );
    const db = await start({ commit, observers });
    await db.transact((tx) => tx.set(words.text, "row 3", "x"));
    const worker = db.pool.work();
    await expect.poll(() => running.length).toBe(1);
    await db.transact((tx) => {
      for (const row of rows(5)) tx.set(words.seen, row, 1);
    });
    await expect.poll(() => db.runs.length).toBeGreaterThan(0);
    resume();
    await worker.idle();
    await worker.stop();
    expect(overlaps).toEqual([]);
    expect(db.runs.filter(({ outcome }) => outcome === "conflict")).toEqual([]);
    expect(await countHints(db.store)).toEqual({});
  });
});

describe.each(["one-phase", "two-phase"] as const)("batch observers, committing in %s", (commit) => {
  test("a run handles the changes that have gathered, each with its value and its previous value", async () => {
    const { runs, counting } = counts();
    const db = await start({ commit, observers: [counting] });
    await write(db, rows(10), "abc");
    await db.pool.drain();
    expect(runs.map(({ length }) => length)).toEqual([10]);
    await write(db, rows(4), "abcde");
    await db.transact((tx) => tx.delete(words.text, "row 9"));
    await db.pool.drain();
    expect([await counted(db, 3), await counted(db, 5)]).toEqual([5, 4]);
    expect(new Set(outcomes(db))).toEqual(new Set(["committed"]));
    await db.context.background.settled();
    expect(await countHints(db.store)).toEqual({});
    expect(await check(db.context, ["words", "lengths", parkedTable])).toEqual([]);
  });

  test("no run handles more than `batch` changes, and at most `concurrency` runs are in progress", async () => {
    let running = 0;
    let most = 0;
    const { runs, counting } = counts({ batch: 7, concurrency: 2 }, async () => {
      most = Math.max(most, ++running);
      await new Promise((resolve) => setImmediate(resolve));
      running--;
    });
    const db = await start({ commit, observers: [counting] });
    await write(db, rows(60), "abc");
    await db.pool.drain();
    expect(Math.max(...runs.map(({ length }) => length))).toBe(7);
    expect(most).toBe(2);
    expect(await counted(db, 3)).toBe(60);
  });

  test("a change that arrives during the run that handles its cell is handled by another run", async () => {
    let change: (() => Promise<unknown>) | undefined;
    const { runs, counting } = counts({}, async () => {
      const now = change;
      change = undefined;
      await now?.();
    });
    const db = await start({ commit, observers: [counting] });
    change = () => write(db, ["row 3", "row 9"], "abcde");
    await write(db, rows(10), "abc");
    await db.pool.drain();
    expect(runs.map(({ length }) => length)).toEqual([10, 2]);
    expect([await counted(db, 3), await counted(db, 5)]).toEqual([8, 2]);
    await db.context.background.settled();
    expect(await countHints(db.store)).toEqual({});
  });

  test("of many changes, only those that fail alone are parked, after their own attempts", async () => {
    const { runs, counting } = counts({ attempts: 2, backoff: { initialMs: 0 } }, () => {
      if (runs.at(-1)!.some((row) => row === "row 13" || row === "row 40")) throw new Error("bad word");
    });
    const db = await start({ commit, observers: [counting] });
    await write(db, rows(64), "abc");
    await db.pool.drain();
    expect(await parked(db)).toEqual([
      ["row 13", 2],
      ["row 40", 2],
    ]);
    expect(await counted(db, 3)).toBe(62);
    // Each half that fails is halved again.
    expect(runs.length).toBeLessThan(40);
    expect(await check(db.context, ["words", "lengths", parkedTable])).toEqual([]);
  });

  test("a parked cell that changes runs alone, and then with the others again", async () => {
    let bad = true;
    const { runs, counting } = counts({ attempts: 1 }, () => {
      if (bad && runs.at(-1)!.includes("row 1")) throw new Error("bad word");
    });
    const db = await start({ commit, observers: [counting] });
    await write(db, rows(3), "abc");
    await db.pool.drain();
    expect(await parked(db)).toEqual([["row 1", 1]]);
    bad = false;
    runs.splice(0);
    await write(db, rows(3), "abcd");
    await db.pool.drain();
    expect(await parked(db)).toEqual([]);
    expect(runs.some((run) => run.length === 1 && run[0] === "row 1")).toBe(true);
    expect(await counted(db, 4)).toBe(3);
  });

  test("a cell that is not due is not among the changes of a run", async () => {
    const { runs, counting } = counts();
    const db = await start({ commit, observers: [counting] });
    await write(db, ["handled"], "abc");
    await db.pool.drain();
    const registered = (await db.registry.fresh()).observers.get("counts")!;
    const system = await db.registry.systemTransaction("spurious");
    for (const row of ["handled", "never written"]) {
      system.addHint(registered.hint({ table: "words", row: Buffer.from(row), column: columnPath("text") }));
    }
    await system.commit();
    await write(db, rows(5), "abc");
    await db.pool.drain();
    expect(runs.map((run) => run.sort())).toEqual([["handled"], rows(5)]);
    await db.context.background.settled();
    expect(await countHints(db.store)).toEqual({});
  });

  test("a change that has failed, or may have ended a process, runs alone", async () => {
    const { runs, counting } = counts();
    const db = await start({ commit, observers: [counting] });
    await write(db, rows(5), "abc");
    const all = { start: undefined, end: undefined };
    for (const { address, timestamp } of (await readHints(db.store, all, 2)).hints) {
      await writeHintState(db.store, address, timestamp, { attempts: 1, notBefore: 0 });
    }
    await db.pool.drain();
    expect(runs.map(({ length }) => length).sort()).toEqual([1, 1, 3]);
    expect(await counted(db, 3)).toBe(5);
  });

  test("a value of a newer program keeps only its own change waiting", async () => {
    let isOld = true;
    const { runs, counting } = counts({}, () => {
      if (isOld && runs.at(-1)!.includes("row 13")) throw new NewerValueError("newer");
    });
    const db = await start({ commit, observers: [counting] });
    const worker = db.pool.work();
    await write(db, rows(40), "abc");
    while (((await counted(db, 3)) ?? 0) < 39) await new Promise((resolve) => setTimeout(resolve, 5));
    expect(await counted(db, 3)).toBe(39);
    isOld = false;
    await worker.idle();
    expect(await counted(db, 3)).toBe(40);
    await worker.stop();
  });

  test("after a run that wrote too much, the next runs are smaller", async () => {
    const { runs, counting } = counts({ batch: 64 }, () => {
      if (runs.at(-1)!.length > 10) throw new LimitExceededError("too much");
    });
    const db = await start({ commit, observers: [counting] });
    await write(db, rows(640), "abc");
    await db.pool.drain();
    expect(await counted(db, 3)).toBe(640);
    expect(outcomes(db).filter((outcome) => outcome === "failed").length).toBeLessThan(25);
  });

  test("after a change that always writes too much was parked, runs handle many changes again", async () => {
    const { runs, counting } = counts({ attempts: 1 }, () => {
      if (runs.at(-1)!.includes("row 13")) throw new LimitExceededError("too much");
    });
    const db = await start({ commit, observers: [counting] });
    await write(db, rows(20), "abc");
    await db.pool.drain();
    expect(await parked(db)).toEqual([["row 13", 1]]);
    runs.splice(0);
    for (let round = 0; round < 5; round++) {
      await write(db, rows(12), "x".repeat(round + 4));
      await db.pool.drain();
    }
    expect(runs.at(-1)!.length).toBeGreaterThan(5);
  });

  test("a cell that changes during each of its runs takes part in large runs again after a failed one", async () => {
    let change: (() => Promise<unknown>) | undefined;
    const { runs, counting } = counts({}, async () => {
      if (runs.length === 1) throw new Error("once");
      const now = change;
      change = undefined;
      await now?.();
    });
    const db = await start({ commit, observers: [counting] });
    change = () => write(db, [...runs.at(-1)!, ...rows(8)], "abcde");
    await write(db, ["one", "other"], "abc");
    await db.pool.drain();
    expect(runs.map((run) => run.length)).toEqual([2, 1, 1, 9]);
  });

  test("a run takes no more changes along than their values allow", async () => {
    const { runs, counting } = counts();
    const db = await start({ commit, observers: [counting] });
    const large = "x".repeat(5 * 1024 * 1024);
    for (const row of rows(12)) await write(db, [row], large);
    await db.pool.drain();
    expect(await counted(db, large.length)).toBe(12);
    expect(Math.max(...runs.map(({ length }) => length))).toBeLessThanOrEqual(5);
  });

  test("deletes count with the bytes of their previous values", async () => {
    const { runs, counting } = counts();
    const db = await start({ commit, observers: [counting] });
    const large = "x".repeat(5 * 1024 * 1024);
    for (const row of rows(12)) await write(db, [row], large);
    await db.pool.drain();
    runs.splice(0);
    await db.transact((tx) => {
      for (const row of rows(12)) tx.delete(words.text, row);
    });
    await db.pool.drain();
    expect(await counted(db, large.length)).toBe(0);
    expect(Math.max(...runs.map(({ length }) => length))).toBeLessThanOrEqual(5);
  });

  test("the error of a run that took too long says how many changes it had", async () => {
    const { counting } = counts({ timeoutMs: 5, attempts: 1 }, () => new Promise(() => {}));
    const db = await start({ commit, observers: [counting] });
    await write(db, rows(4), "abc");
    await db.pool.drain();
    const errors = db.runs.map(({ error }) => String(error));
    expect(errors[0]).toMatch(/its run on 4 changes, one of them of .*, within 5 ms.*lower its `batch`/);
    expect(errors.at(-1)).toMatch(/its run on words\/row \d\/text within 5 ms.*raise its `timeoutMs`\.$/);
  });

  test("two processes handle each change once", async () => {
    const { runs, counting } = counts({ batch: 8 });
    const one = await start({ commit, observers: [counting] });
    const other = await start({ commit, store: one.store, observers: [counting] });
    const workers = [one.pool.work(), other.pool.work()];
    for (let round = 0; round < 5; round++) await write(one, rows(30), "x".repeat(round + 1));
    await Promise.all(workers.map((worker) => worker.idle()));
    const sizes = await Promise.all([1, 2, 3, 4, 5].map((length) => counted(one, length)));
    expect(sizes.map((n) => n ?? 0).reduce((a, b) => a + b)).toBe(30);
    expect(sizes.at(-1)).toBe(30);
    expect(runs.length).toBeGreaterThan(1);
    for (const worker of workers) await worker.stop();
  });

  test("a batch of signals and of a family's cells", async () => {
    const pokes: string[][] = [];
    const poked = batchObserver(
      "poked",
      words.poke,
      async (tx, changes) => {
        pokes.push(changes.map(({ row }) => row).sort());
        for (const { row } of changes) tx.set(words.seen, row, ((await tx.get(words.seen, row)) ?? 0) + 1);
      },
      { concurrency: 1 },
    );
    const marks: string[] = [];
    const marked = batchObserver("marked", words.marks, (_tx, changes) => {
      for (const { row, qualifier, value } of changes) marks.push(`${row} ${qualifier} ${value}`);
    });
    const db = await start({ commit, observers: [poked, marked] });
    await db.transact((tx) => {
      for (const row of ["a", "b", "c"]) {
        tx.notify(words.poke, row);
        tx.set(words.marks.at("m"), row, 1);
        tx.set(words.marks.at("n"), row, 2);
      }
    });
    await db.pool.drain();
    expect(pokes).toEqual([["a", "b", "c"]]);
    expect(marks.sort()).toEqual(["a m 1", "a n 2", "b m 1", "b n 2", "c m 1", "c n 2"]);
    await db.context.background.settled();
    expect(await countHints(db.store)).toEqual({});
  });

  test("signals that notify themselves in each run are parked, each for itself", async () => {
    const ends = new Map<string, number>();
    const endless = batchObserver(
      "endless",
      words.poke,
      (tx, changes) => {
        for (const { row } of changes) {
          ends.set(row, (ends.get(row) ?? 0) + 1);
          if (row !== "b" || ends.get(row)! < 3) tx.notify(words.poke, row);
        }
      },
      { concurrency: 1 },
    );
    const db = await start({ commit, observers: [endless] });
    await db.transact((tx) => {
      for (const row of ["a", "b", "c"]) tx.notify(words.poke, row);
    });
    await db.pool.drain();
    expect((await parked(db)).map((each) => (each as [string])[0])).toEqual(["a", "c"]);
    expect(Object.fromEntries(ends)).toEqual({ a: 1_000, b: 3, c: 1_000 });
  });

  test("a value that cannot be decoded keeps only its own change from being handled", async () => {
    const { counting } = counts({ attempts: 1 });
    const db = await start({ commit, observers: [counting] });
    await write(db, rows(5), "abc");
    const asBytes = Object.create(words.text, { codec: { value: bytes() } }) as Column<Uint8Array>;
    await db.transact((tx) => tx.set(asBytes, "row 2", Buffer.of(0xff)));
    await db.pool.drain();
    expect(await parked(db)).toEqual([["row 2", 1]]);
    expect(await counted(db, 3)).toBe(4);
  });

  test("a worker that stops leaves the changes of the run that it gave up", async () => {
    let goOn = () => {};
    let begun = () => {};
    const hasBegun = new Promise<void>((resolve) => {
      begun = resolve;
    });
    let holds = true;
    const { runs, counting } = counts({}, async () => {
      if (!holds || runs.at(-1)!.length < 2) return;
      begun();
      await new Promise<void>((resolve) => {
        goOn = resolve;
      });
    });
    const db = await start({ commit, observers: [counting] });
    const worker = db.pool.work();
    await write(db, rows(5), "abc");
    await hasBegun;
    await worker.stop({ timeoutMs: 0 });
    goOn();
    holds = false;
    expect(await counted(db, 3)).toBeUndefined();
    expect(await countHints(db.store)).toEqual({ counts: 5 });
    await db.pool.drain();
    expect(await counted(db, 3)).toBe(5);
  });
});

test("a batch reads little more than the values that it takes, also if the first ones are small", async () => {
  const store = memoryStore({ inlineBytes: 1_000_000 });
  let read = 0;
  const readRow = store.readRow.bind(store);
  store.readRow = async (request, options) => {
    const page = await readRow(request, options);
    if (request.table === "words") for (const { write } of page.cells) read += write?.value.length ?? 0;
    return page;
  };
  const readBefore: number[] = [];
  let goOn = () => {};
  const held = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  const { counting } = counts({ batch: 1_000 }, async () => {
    readBefore.push(read);
    if (readBefore.length === 1) await held;
  });
  const db = await start({ store, observers: [counting] });
  const worker = db.pool.work();
  await worker.idle();
  await write(db, ["first"], "x");
  await vi.waitFor(() => expect(readBefore).toHaveLength(1), { timeout: 60_000 });
  await write(db, rows(73), "x");
  const large = "x".repeat(200_000);
  await write(db, rows(373).slice(73), large);
  goOn();
  await worker.idle();
  expect(await counted(db, large.length)).toBe(300);
  expect(readBefore[1]).toBeLessThan(32_000_000);
  await worker.stop();
});

test("a batch may be larger than the queue of other observers", async () => {
  const { runs, counting } = counts({ batch: 3_000 });
  const db = await start({ observers: [counting] });
  const worker = db.pool.work();
  await write(db, rows(5_000), "abc");
  await worker.idle();
  expect(Math.max(...runs.map(({ length }) => length))).toBe(3_000);
  await worker.stop();
});

test("an observer of one change is not affected by the batches of another", async () => {
  const alone: string[] = [];
  const { counting } = counts();
  const single = observer("single", words.text, (_tx, { row }) => void alone.push(row));
  const db = await start({ observers: [counting, single] });
  await write(db, rows(20), "abc");
  await db.pool.drain();
  expect(alone.sort()).toEqual(rows(20).sort());
});

test.each([
  ["a batch of 0", { batch: 0 }, /`batch` must be a whole number from 1 to 10000, not 0/],
  ["no whole batch", { batch: 1.5 }, /`batch`/],
  ["an unknown option", { size: 1 }, /has no option `size`.*`batch`/],
  ["a wrong concurrency", { concurrency: 0 }, /`concurrency`/],
])("refuses %s", (_what, options, message) => {
  const declare = () => batchObserver("o", words.text, () => {}, options as never);
  expect(declare).toThrow(ObserverError);
  expect(declare).toThrow(message);
});

test("`batch` is no option of other observers", () => {
  expect(() => observer("o", words.text, () => {}, { batch: 2 } as never)).toThrow(/has no option `batch`/);
});
