import { describe, expect, test, vi } from "vitest";
import { countHints, openTest, type TestDatabase } from "../../../test/support/observer/context.js";
import { documents, length, words } from "../../../test/support/observer/documents.js";
import { TestEnvironment } from "../../../test/support/observer/environment.js";
import { databasesOf } from "../../../test/support/observer/started.js";
import { AbortedError, InvalidArgumentError, ObserverError } from "../../errors/index.js";
import { counterOracle, type Oracle } from "../../oracle/index.js";
import { memoryStore } from "../../store/memory/index.js";
import { type CommitHooks, check, collect } from "../../transaction/index.js";
import { readHints } from "../hint/hint.js";
import {
  type BackfillProgress,
  backfill,
  listParked,
  type Observer,
  observer,
  unregister,
} from "../index.js";

const start = databasesOf();

function name(index: number): string {
  return `row ${String(index).padStart(4, "0")}`;
}

async function fill(db: TestDatabase, count: number): Promise<void> {
  await db.transact((tx) => {
    for (let index = 0; index < count; index++) tx.set(documents.contents, name(index), "some words");
  });
}

async function countLengths(db: TestDatabase): Promise<number> {
  return db.transact(async (tx) => {
    let count = 0;
    for await (const _ of tx.scan(documents.length)) count++;
    return count;
  });
}

async function hintedRows(db: TestDatabase): Promise<readonly string[]> {
  const { hints } = await readHints(db.store, { start: undefined, end: undefined }, 10_000);
  return hints.map(({ row }) => Buffer.from(row).toString());
}

/** Hooks that hold the first commit of a backfill's batch until the test releases it. */
function heldBackfill() {
  let isHeld = false;
  let goOn = () => {};
  const held = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  const hooks: CommitHooks = {
    async step(step, { label }, run) {
      const isCommit = step === "one-phase-commit" || step === "prewrite";
      if (label === "backfill length" && isCommit && !isHeld) {
        isHeld = true;
        await held;
      }
      return run();
    },
  };
  return { hooks, isHeld: () => isHeld, goOn: () => goOn() };
}

function versioned(version: number, seen: string[]): Observer {
  return observer("versioned", documents.contents, (_tx, { row }) => seen.push(`${row} v${version}`), {
    version,
  });
}

describe.each(["one-phase", "two-phase"] as const)("backfill, committing in %s", (commit) => {
  test("a new observer handles existing cells only if it is asked to", async () => {
    const writer = await start({ commit, tables: [documents] });
    await fill(writer, 700);
    const db = await start({ commit, store: writer.store, observers: [length] });
    await db.pool.drain();
    expect(await countLengths(db)).toBe(0);
    const progress: BackfillProgress[] = [];
    const report = await backfill(db.registry, length, { onProgress: (each) => progress.push(each) });
    expect(report).toEqual({ marked: 700 });
    expect(progress.at(-1)!.marked).toBe(700);
    expect(progress.length).toBeGreaterThan(2);
    await db.pool.drain();
    expect(await countLengths(db)).toBe(700);
    expect((await db.registry.fresh()).observers.get("length")!.record.backfills).toEqual([]);
  });

  test("a range limits it", async () => {
    const writer = await start({ commit, tables: [documents] });
    await fill(writer, 30);
    const db = await start({ commit, store: writer.store, observers: [length] });
    await backfill(db.registry, "length", { range: { start: name(5), end: name(9) } });
    await backfill(db.registry, "length", { range: { prefix: "row 002" } });
    await db.pool.drain();
    expect(await countLengths(db)).toBe(14);
  });

  test("handled cells are not handled again, unless the version rose", async () => {
    const seen: string[] = [];
    const first = await start({ commit, observers: [versioned(1, seen)] });
    await first.transact((tx) => tx.set(documents.contents, "a", "x"));
    await first.pool.drain();
    await backfill(first.registry, "versioned");
    await first.pool.drain();
    expect(seen).toEqual(["a v1"]);
    const second = await start({ commit, store: first.store, observers: [versioned(2, seen)] });
    await second.pool.drain();
    expect(seen).toEqual(["a v1"]);
    await backfill(second.registry, "versioned");
    await second.pool.drain();
    expect(seen).toEqual(["a v1", "a v2"]);
    await backfill(second.registry, "versioned");
    await second.pool.drain();
    expect(seen).toEqual(["a v1", "a v2"]);
  });

  test("a worker of an older version leaves the hints to the newer one", async () => {
    const seen: string[] = [];
    const old = await openTest({ commit, observers: [versioned(1, seen)] });
    const worker = old.pool.work();
    await old.transact((tx) => tx.set(documents.contents, "a", "x"));
    await worker.idle();
    const db = await start({ commit, store: old.store, observers: [versioned(2, seen)] });
    await backfill(db.registry, "versioned");
    await worker.idle();
    expect(await countHints(db.store)).toEqual({ versioned: 1 });
    // The worker's next scan finds that its version of the observer is too old.
    await vi.waitFor(() => expect(old.failures).toHaveLength(1), { timeout: 60_000 });
    await db.pool.drain();
    expect(seen).toEqual(["a v1", "a v2"]);
    await old.close();
    expect(old.failures.map((failure) => String(failure.error))).toEqual([
      expect.stringContaining(
        'Observer "versioned" is now registered in version 2; this program has version 1',
      ),
    ]);
  });

  test("on a server, waits until workers of an older version know the newer one", async () => {
    const seen: string[] = [];
    const environment = new TestEnvironment();
    const store = memoryStore({ environment, remote: true });
    const old = await start({ commit, store, environment, observers: [versioned(1, seen)] });
    const worker = old.pool.work();
    await environment.advance(100);
    await old.transact((tx) => tx.set(documents.contents, "a", "x"));
    await environment.until(worker.idle());
    const db = await start({ commit, store, environment, observers: [versioned(2, seen)] });
    await environment.until(backfill(db.registry, "versioned"));
    await environment.advance(500);
    await environment.until(db.pool.drain());
    expect(seen).toEqual(["a v1", "a v2"]);
    await environment.until(worker.stop());
    old.failures.splice(0);
  });

  test("a parked change is due again in a newer version", async () => {
    const make = (version: number) =>
      observer(
        "versioned",
        documents.contents,
        (tx, { row }) => {
          if (version === 1) throw new Error("bad version");
          tx.set(documents.length, row, version);
        },
        { version, attempts: 1 },
      );
    const first = await start({ commit, observers: [make(1)] });
    await first.transact((tx) => tx.set(documents.contents, "a", "x"));
    await first.pool.drain();
    const db = await start({ commit, store: first.store, observers: [make(2)] });
    await backfill(db.registry, "versioned");
    await db.pool.drain();
    expect(await db.transact((tx) => tx.get(documents.length, "a"))).toBe(2);
    for await (const parked of listParked(db.registry)) expect(parked).toBeUndefined();
  });

  test("a backfill that was stopped is continued by the next call, in another process too", async () => {
    const writer = await start({ commit, tables: [documents] });
    await fill(writer, 1_000);
    const db = await start({ commit, store: writer.store, observers: [length] });
    const controller = new AbortController();
    const stopped = backfill(db.registry, length, {
      signal: controller.signal,
      onProgress: ({ marked }) => {
        if (marked >= 256) controller.abort();
      },
    });
    await expect(stopped).rejects.toMatchObject({ code: "ABORTED" });
    const other = await start({ commit, store: writer.store, observers: [length] });
    const state = (await other.registry.fresh()).observers.get("length")!.record.backfills[0]!;
    expect(state.marked).toBeGreaterThanOrEqual(256);
    expect(state.marked).toBeLessThan(1_000);
    const column = Buffer.from("contents");
    const passed = (row: string) =>
      (other.registry.fresh() as Awaited<ReturnType<typeof other.registry.fresh>>)
        .observersOf("documents", column)[0]!
        .passed(Buffer.from(row));
    expect(passed(name(0))).toBe(true);
    expect(passed(name(999))).toBe(false);
    const report = await backfill(other.registry, length);
    expect(report.marked).toBe(1_000 - state.marked);
    expect((await countHints(other.store)).length).toBe(1_000);
    expect(passed(name(999))).toBe(true);
    await other.pool.drain();
    expect(await countLengths(db)).toBe(1_000);
  });

  test("rows outside its range, including its end, are not marked", async () => {
    const writer = await start({ commit, tables: [documents] });
    await fill(writer, 1_000);
    const db = await start({ commit, store: writer.store, observers: [length] });
    const controller = new AbortController();
    const stopped = backfill(db.registry, length, {
      range: { start: name(100), end: name(900) },
      signal: controller.signal,
      onProgress: () => controller.abort(),
    });
    await expect(stopped).rejects.toMatchObject({ code: "ABORTED" });
    const column = (await db.registry.fresh()).observersOf("documents", Buffer.from("contents"))[0]!;
    const passed = [99, 899, 900].map((index) => column.passed(Buffer.from(name(index))));
    expect(passed).toEqual([true, false, true]);
  });

  test("two at once share the work", async () => {
    const writer = await start({ commit, tables: [documents] });
    await fill(writer, 900);
    const one = await start({ commit, store: writer.store, observers: [length] });
    const other = await start({ commit, store: writer.store, observers: [length] });
    await Promise.all([backfill(one.registry, length), backfill(other.registry, length)]);
    await one.pool.drain();
    expect(await countLengths(one)).toBe(900);
  });

  test("two of different ranges have each marked their whole range when they resolve", async () => {
    const writer = await start({ commit, tables: [documents] });
    await fill(writer, 900);
    const one = await start({ commit, store: writer.store, observers: [length] });
    // The other backfill is slow at its last commit. The first one begins and ends before that
    // commit.
    const { hooks, isHeld, goOn } = heldBackfill();
    const other = await start({ commit, store: writer.store, observers: [length], hooks });
    const slow = backfill(other.registry, length, { range: { start: name(600) } });
    await vi.waitUntil(isHeld);
    await backfill(one.registry, length, { range: { end: name(300) } });
    goOn();
    await slow;
    expect(await countHints(writer.store)).toEqual({ length: 600 });
    expect((await one.registry.reload()).observers.get("length")!.record.backfills).toEqual([]);
    await one.pool.drain();
    expect(await countLengths(one)).toBe(600);
  });

  test("many of different ranges at once have each marked their whole range", async () => {
    const writer = await start({ commit, tables: [documents] });
    await fill(writer, 1_000);
    const one = await start({ commit, store: writer.store, observers: [length] });
    const other = await start({ commit, store: writer.store, observers: [length] });
    const run = async (db: TestDatabase, first: number) => {
      for (let from = first; from < first + 250; from += 50) {
        await backfill(db.registry, length, { range: { start: name(from), end: name(from + 50) } });
        const marked = new Set(await hintedRows(db));
        const rows = Array.from({ length: 50 }, (_, index) => name(from + index));
        expect(rows.filter((row) => !marked.has(row))).toEqual([]);
      }
    };
    await Promise.all([run(one, 0), run(other, 250), run(one, 500), run(other, 750)]);
  });

  test("one whose observer was unregistered and registered again reports that it has not marked its range", async () => {
    const writer = await start({ commit, tables: [documents] });
    await fill(writer, 600);
    const { hooks, isHeld, goOn } = heldBackfill();
    const db = await start({ commit, store: writer.store, observers: [length], hooks });
    const walking = backfill(db.registry, length).catch((error: unknown) => error);
    await vi.waitUntil(isHeld);
    const other = await start({ commit, store: writer.store });
    await unregister(other.registry, "length");
    await other.registry.register([], [length]);
    goOn();
    expect(await walking).toMatchObject({ code: "OBSERVER" });
  });

  test("cells of a family in one wide row are all marked", async () => {
    const writer = await start({ commit, tables: [documents] });
    await writer.transact((tx) => {
      for (let index = 0; index < 2_500; index++) tx.set(documents.anchors.at(name(index)), "a", "x");
    });
    const wide = observer("wide", documents.anchors, (tx, { row, qualifier }) => {
      tx.set(documents.anchorLengths.at(qualifier), row, 1);
    });
    const db = await start({ commit, store: writer.store, observers: [wide] });
    expect(await backfill(db.registry, wide)).toEqual({ marked: 2_500 });
    await db.pool.drain();
    const row = await db.transact((tx) => tx.row(documents, "a"));
    expect(row!.anchorLengths.size).toBe(2_500);
  });

  test("unknown observers, signals and invalid ranges are refused", async () => {
    const poked = observer("poked", documents.poke, () => {});
    const db = await start({ commit, observers: [length, poked] });
    await expect(backfill(db.registry, "nobody")).rejects.toThrow('No observer named "nobody" is registered');
    await expect(backfill(db.registry, poked)).rejects.toThrow(InvalidArgumentError);
    const backwards = backfill(db.registry, length, { range: { start: "b", end: "a" } });
    await expect(backwards).rejects.toThrow(InvalidArgumentError);
  });
});

describe.each(["one-phase", "two-phase"] as const)("unregister, committing in %s", (commit) => {
  test("removes the observer with all its records, and no others", async () => {
    const failing = observer(
      "failing",
      documents.contents,
      (_tx, { row }) => {
        if (row === name(3)) throw new Error("bad");
      },
      { attempts: 1 },
    );
    const db = await start({ commit, observers: [failing, words] });
    await fill(db, 600);
    await db.pool.drain();
    await fill(db, 10);
    expect(await countHints(db.store)).toEqual({ failing: 10, words: 10 });
    const removed: number[] = [];
    await unregister(db.registry, "failing", { onProgress: (progress) => removed.push(progress.removed) });
    db.pool.forget("failing");
    expect(removed.at(-1)!).toBe(10 + 599 + 2);
    expect(await countHints(db.store)).toEqual({ words: 10 });
    const view = await db.registry.fresh();
    expect([...view.observers.keys()]).toEqual(["words"]);
    expect(view.forgotten.size).toBe(0);
    await fill(db, 5);
    await db.pool.drain();
    expect(await countHints(db.store)).toEqual({});
    await expect(unregister(db.registry, "failing")).rejects.toThrow(ObserverError);
  });

  test("an observer of the same name that is registered later starts from scratch", async () => {
    const first = await start({ commit, observers: [length] });
    await fill(first, 20);
    await first.pool.drain();
    const controller = new AbortController();
    controller.abort();
    await unregister(first.registry, "length", { signal: controller.signal }).catch(() => undefined);
    // The interruption may come at any step. If it comes before the first, the observer is still
    // registered.
    if ((await first.registry.fresh()).observers.has("length")) await unregister(first.registry, "length");
    const again = await start({ commit, store: first.store, observers: [length] });
    await backfill(again.registry, length);
    expect(again.runs).toEqual([]);
    await again.pool.drain();
    expect(again.runs.filter((run) => run.outcome === "committed")).toHaveLength(20);
  });

  test("the next call removes the leftovers of an interrupted one, which never count for a new registration", async () => {
    const db = await start({ commit, observers: [length] });
    await fill(db, 600);
    await db.pool.drain();
    const controller = new AbortController();
    const interrupted = unregister(db.registry, "length", {
      signal: controller.signal,
      onProgress: ({ removed }) => {
        if (removed > 0) controller.abort();
      },
    });
    await expect(interrupted).rejects.toMatchObject({ code: "ABORTED" });
    expect((await db.registry.fresh()).forgotten.has("length")).toBe(true);
    const again = await start({ commit, store: db.store, observers: [length] });
    await backfill(again.registry, length);
    await again.pool.drain();
    expect(again.runs.filter((run) => run.outcome === "committed")).toHaveLength(600);
  });

  test("an earlier call that ends late leaves the records that a later call must still remove", async () => {
    const store = memoryStore();
    let gate = Promise.resolve();
    const held = new Proxy(store, {
      get(target, key) {
        const member: unknown = Reflect.get(target, key, target);
        if (typeof member !== "function") return member;
        if (key !== "readRange") return member.bind(target);
        return async (...args: unknown[]) => {
          await gate;
          return member.apply(target, args);
        };
      },
    });
    const first = await start({ commit, store: held, observers: [length] });
    await fill(first, 600);
    await first.pool.drain();
    let open = () => {};
    let isHeld = false;
    let earlier: Promise<void> | undefined;
    const reached = new Promise<void>((resolve) => {
      const onProgress = () => {
        if (isHeld) return;
        isHeld = true;
        gate = new Promise((release) => {
          open = release;
        });
        resolve();
      };
      earlier = unregister(first.registry, "length", { onProgress });
    });
    await reached;
    const again = await start({ commit, store, observers: [length] });
    await fill(again, 600);
    await again.pool.drain();
    const controller = new AbortController();
    const onProgress = ({ removed }: { readonly removed: number }) => {
      if (removed > 0) controller.abort();
    };
    const later = unregister(again.registry, "length", { signal: controller.signal, onProgress });
    await expect(later).rejects.toMatchObject({ code: "ABORTED" });
    open();
    await earlier;
    expect((await again.registry.reload()).forgotten.has("length")).toBe(true);
  });

  test("a worker that still has it stops running it", async () => {
    const db = await openTest({ commit, observers: [length] });
    const worker = db.pool.work();
    await worker.idle();
    await unregister(db.registry, "length");
    await fill(db, 3);
    await worker.idle();
    expect(db.runs).toEqual([]);
    await db.close();
  });
});

test("a hint of a re-registered observer stays while the old observer's hints are removed", async () => {
  const store = memoryStore();
  const other = await start({ store, observers: [length] });
  const counter = counterOracle(store.atomic!);
  let looks = 0;
  const isOut = async () => !(await other.registry.fresh()).observers.has("length");
  const oracle: Oracle = {
    next: (options) => counter.next(options),
    async latest() {
      // After the removal, the first call of `latest` is for a read of the registry. The second
      // call determines the timestamp up to which hints are removed.
      if (looks < 2 && (await isOut()) && ++looks === 2) {
        await other.registry.register([], [length]);
        await fill(other, 1);
      }
      return counter.latest();
    },
  };
  const db = await start({ store, oracle, observers: [length] });
  await fill(db, 5);
  await unregister(db.registry, "length");
  expect(looks).toBe(2);
  expect(await countHints(store)).toEqual({ length: 1 });
  await other.pool.drain();
  expect(await countLengths(other)).toBe(1);
});

test("a deletion stays for an unfinished backfill, though an earlier observer of the name has handled it", async () => {
  const environment = new TestEnvironment();
  const make = (seen: unknown[]) =>
    observer("reused", documents.contents, (_tx, { row, value }) => void seen.push([row, value]));
  const first = await start({ environment, observers: [make([])] });
  await fill(first, 1);
  await environment.until(first.pool.drain());
  await first.transact((tx) => tx.delete(documents.contents, name(0)));
  await environment.until(first.pool.drain());
  const stop = new AbortController();
  const interrupted = unregister(first.registry, "reused", {
    signal: stop.signal,
    onProgress: () => stop.abort(),
  });
  await expect(environment.until(interrupted)).rejects.toBeInstanceOf(AbortedError);
  const seen: unknown[] = [];
  const again = await start({ environment, store: first.store, observers: [make(seen)] });
  const onProgress = () => {
    throw new Error("enough");
  };
  // It is recorded, and has passed no row.
  await expect(environment.until(backfill(again.registry, "reused", { onProgress }))).rejects.toThrow(
    "enough",
  );
  await environment.advance(1_000);
  await environment.until(
    collect(again.context, ["documents"], Number.POSITIVE_INFINITY, { retentionMs: 0 }),
  );
  expect(await environment.until(backfill(again.registry, "reused"))).toEqual({ marked: 1 });
  await environment.until(again.pool.drain());
  expect(seen).toEqual([[name(0), undefined]]);
});

test.each([
  ["backfill", ({ registry }, options) => backfill(registry, "length", options)],
  ["unregister", ({ registry }, options) => unregister(registry, "length", options)],
  ["collect", ({ context }, options) => collect(context, ["documents"], Number.POSITIVE_INFINITY, options)],
  ["check", ({ context }, options) => check(context, ["documents"], options)],
] satisfies [
  string,
  (db: TestDatabase, options: { readonly onProgress: () => unknown }) => Promise<unknown>,
][])("%s rejects with the error of an async `onProgress`", async (_, run) => {
  const db = await start({ observers: [length] });
  await fill(db, 1);
  await db.pool.drain();
  const onProgress = (): unknown => Promise.reject(new Error("no terminal"));
  await expect(run(db, { onProgress })).rejects.toThrow("no terminal");
});

/** The options of databases on a store of one-row mutations. */
function distant() {
  const environment = new TestEnvironment();
  const store = memoryStore({ environment, atomicBatches: false });
  return { environment, store, commit: "two-phase", oracle: counterOracle(memoryStore().atomic!) } as const;
}

test("a backfill waits for a version that its process has not seen before", async () => {
  const options = distant();
  const { environment } = options;
  const { registry } = await start({ ...options, observers: [versioned(1, [])] });
  await environment.advance(5_000);
  await registry.fresh();
  await start({ ...options, observers: [versioned(2, [])] });
  let isOver = false;
  const filling = backfill(registry, "versioned").finally(() => {
    isOver = true;
  });
  await environment.advance(1_900);
  expect(isOver).toBe(false);
  await environment.until(filling);
});

test("a backfill that is aborted while it waits for others to learn of the observer reports it", async () => {
  const options = distant();
  const { environment } = options;
  const db = await start({ ...options, observers: [length] });
  const controller = new AbortController();
  const filling = backfill(db.registry, length, { signal: controller.signal });
  await environment.settle();
  controller.abort("enough");
  await expect(filling).rejects.toThrow(AbortedError);
  await expect(filling).rejects.toMatchObject({ cause: "enough" });
});
