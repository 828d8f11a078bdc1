import { type Database, LoadError, type LoadPart, loadPart, open } from "percolatordb";
import { memoryStore } from "percolatordb/memory";
import type { RowStore } from "percolatordb/store";
import { ProcessStore, TestClock } from "percolatordb/testing";
import { beforeEach, expect, test } from "vitest";
import { contentsOf, documents, longSiteOf, observersOf, partsOf, tables } from "./app.js";

const site = longSiteOf(60);

let clock: TestClock;
let store: RowStore;

beforeEach(() => {
  // As on several machines: a process does not know whether another one has ended.
  begin({});
});

function begin(options: ConstructorParameters<typeof TestClock>[0]): void {
  clock = new TestClock(options);
  store = memoryStore({ environment: clock.process() });
}

async function start() {
  const environment = clock.process();
  const observers = observersOf({ count: 0 });
  const db = await clock.until(
    open(new ProcessStore(store, environment), { tables, observers, environment }),
  );
  return { db, environment };
}

/** A load in a process of its own whose source stops after 30 rows, until `go` is called. */
async function startLoad() {
  const { db, environment } = await start();
  let go!: () => void;
  const mayGo = new Promise<void>((resolve) => (go = resolve));
  const [first, ...rest] = partsOf(site);
  let isReached = false;
  const stopping: LoadPart = loadPart(documents, async function* (after) {
    let count = 0;
    for await (const row of first!.rows(after) as Iterable<never>) {
      if (count++ === 30) {
        isReached = true;
        await mayGo;
      }
      yield row;
    }
  });
  let answer: unknown;
  const ended = db.load("first", [stopping, ...rest]).then(
    (report) => (answer = report),
    (error: unknown) => (answer = error),
  );
  await clock.advance(3_000);
  expect(isReached).toBe(true);
  return { db, environment, go, ended, answer: () => answer };
}

/** Continues the load. Resolves to the result, and how long it took. */
async function take(db: Database) {
  const began = clock.passedMs;
  const result: unknown = await clock.until(db.load("first", partsOf(site)).catch((error) => error));
  return { result, ms: clock.passedMs - began };
}

async function expectWhole(db: Database): Promise<void> {
  const environment = clock.process();
  const whole = await clock.until(
    open("memory:", { tables, observers: observersOf({ count: 0 }), environment }),
  );
  await clock.until(whole.load("first", partsOf(site)));
  expect(await clock.until(contentsOf(db))).toEqual(await clock.until(contentsOf(whole)));
  expect(await clock.until(db.check())).toEqual([]);
  await clock.until(whole.close());
}

test("a second call is refused while the first makes progress", async () => {
  const first = await startLoad();
  const second = await start();
  const { result } = await take(second.db);
  expect(result).toBeInstanceOf(LoadError);
  expect((result as Error).message).toContain("runs already");
  first.go();
  await clock.until(first.ended);
  expect(first.answer()).toMatchObject({ published: true });
  await expectWhole(second.db);
  await clock.until(Promise.all([first.db.close(), second.db.close()]));
});

test("a second call takes over at once if the first one's process has ended", async () => {
  begin({ oneMachine: true });
  const first = await startLoad();
  first.environment.die();
  const second = await start();
  const { result, ms } = await take(second.db);
  expect(result).toMatchObject({ published: true });
  expect(ms).toBeLessThan(5_000);
  await expectWhole(second.db);
  await clock.until(second.db.close());
});

test("a second call takes over if the first one hangs for 15 s, and the first one then writes nothing", async () => {
  const first = await startLoad();
  first.environment.suspend();
  const second = await start();
  const { result, ms } = await take(second.db);
  expect(result).toMatchObject({ published: true });
  expect(ms).toBeGreaterThanOrEqual(15_000);
  expect(ms).toBeLessThan(20_000);
  await expectWhole(second.db);
  // Rows that the first one writes now would be visible at once.
  await clock.until(second.db.transact((tx) => tx.delete(documents.contents, "https://site/9")));
  const before = await clock.until(contentsOf(second.db));
  first.environment.resume();
  first.go();
  await clock.until(first.ended);
  expect(first.answer()).toBeInstanceOf(LoadError);
  expect(await clock.until(contentsOf(second.db))).toEqual(before);
  await clock.until(Promise.all([first.db.close(), second.db.close()]));
});
