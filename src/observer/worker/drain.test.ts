import { afterEach, describe, expect, test } from "vitest";
import { countHints, openTest, type TestDatabase } from "../../../test/support/observer/context.js";
import { documents, length } from "../../../test/support/observer/documents.js";
import { TestEnvironment } from "../../../test/support/observer/environment.js";
import { memoryStore } from "../../store/memory/index.js";
import { hintTable } from "../../transaction/index.js";
import { type Observer, observer } from "../index.js";

/** An observer that runs one change at a time. Each run waits until the test releases it. */
function gated(name: string) {
  let isOpen = false;
  let goOn = () => {};
  const run = async () => {
    if (isOpen) return;
    await new Promise<void>((resolve) => {
      goOn = resolve;
    });
  };
  const letAllOn = () => {
    isOpen = true;
    goOn();
  };
  return { gated: observer(name, documents.contents, run, { concurrency: 1 }), letAllOn };
}

let environment: TestEnvironment;
let db: TestDatabase;

async function start(observers: readonly Observer[]): Promise<void> {
  environment = new TestEnvironment();
  db = await openTest({ environment, observers });
  await db.transact((tx) => {
    for (const row of ["a", "b", "c"]) tx.set(documents.contents, row, "x");
  });
}

afterEach(() => environment.until(db.close()));

test("draining with an aborted signal rejects, even if nothing is due", async () => {
  environment = new TestEnvironment();
  db = await openTest({ environment, observers: [] });
  const signal = AbortSignal.abort(new Error("enough"));
  await expect(environment.until(db.pool.drain({ signal }))).rejects.toMatchObject({ code: "ABORTED" });
});

test("draining ends as soon as its signal is aborted, even while a run continues", async () => {
  const { gated: slow, letAllOn } = gated("slow");
  await start([slow]);
  const controller = new AbortController();
  let refused: unknown;
  const drained = db.pool.drain({ signal: controller.signal }).catch((error: unknown) => {
    refused = error;
  });
  await environment.advance(1_000);
  expect([refused, db.pool.running]).toEqual([undefined, 1]);
  controller.abort(new Error("enough"));
  await environment.settle();
  expect(refused).toMatchObject({ code: "ABORTED" });
  expect(await countHints(db.store)).toEqual({ slow: 3 });
  letAllOn();
  await drained;
});

const fail = () => {
  throw new Error("no terminal");
};

test("draining ends with the error of its `onProgress` even while a run continues", async () => {
  const { gated: slow, letAllOn } = gated("slow");
  await start([slow]);
  let refused: unknown;
  const drained = db.pool.drain({ onProgress: fail }).catch((error: unknown) => {
    refused = error;
  });
  await environment.advance(1_000);
  expect(refused).toEqual(new Error("no terminal"));
  expect(await countHints(db.store)).toEqual({ slow: 3 });
  letAllOn();
  await environment.until(drained);
});

test.each([
  ["throws in a timer", fail],
  ["rejects", (): unknown => Promise.resolve().then(fail)],
])("draining rejects with the error of an `onProgress` that %s", async (_, onProgress) => {
  const { gated: slow, letAllOn } = gated("slow");
  await start([slow]);
  let refused: unknown;
  const drained = db.pool.drain({ onProgress }).catch((error: unknown) => {
    refused = error;
  });
  await environment.advance(1_000);
  letAllOn();
  await environment.until(drained);
  expect(refused).toEqual(new Error("no terminal"));
});

test("draining lets other work go on while it counts hints, and ends when its signal is aborted", async () => {
  environment = new TestEnvironment();
  const store = memoryStore({ environment });
  db = await openTest({ environment, store, observers: [length] });
  await db.transact((tx) => {
    for (let index = 0; index < 5_000; index++) tx.set(documents.contents, `row ${index}`, "x");
  });
  const controller = new AbortController();
  const read = store.readRange.bind(store);
  let pages = 0;
  store.readRange = (range, options) => {
    if (range.table === hintTable && ++pages === 1) environment.defer(() => controller.abort());
    return read(range, options);
  };
  const drained = db.pool.drain({ signal: controller.signal });
  await expect(environment.until(drained)).rejects.toMatchObject({ code: "ABORTED" });
  // A short page, and at most two of the six that it would read.
  expect(pages).toBeLessThanOrEqual(3);
});

describe("draining while workers stop", () => {
  test("a drain that needed no worker and ends first leaves the other's worker", async () => {
    const { gated: slow, letAllOn } = gated("slow");
    await start([slow]);
    const worker = db.pool.work();
    await environment.advance(500);
    const controller = new AbortController();
    const first = db.pool.drain({ signal: controller.signal });
    const refused = expect(first).rejects.toMatchObject({ code: "ABORTED" });
    await environment.settle();
    const stopped = worker.stop();
    const second = db.pool.drain();
    await environment.settle();
    controller.abort(new Error("enough"));
    await environment.settle();
    letAllOn();
    await environment.until(Promise.all([refused, stopped, second]));
    expect(await countHints(db.store)).toEqual({});
    expect(db.pool.worked.size).toBe(0);
  });

  test("finishes the work of a stopping worker, even if it had a worker for other observers", async () => {
    const { gated: slow, letAllOn } = gated("slow");
    const quick = observer("quick", documents.contents, () => {});
    await start([slow, quick]);
    const worker = db.pool.work({ observers: [slow] });
    await environment.advance(500);
    const drained = db.pool.drain();
    await environment.settle();
    expect([...db.pool.worked.keys()].sort()).toEqual(["quick", "slow"]);
    const stopped = worker.stop();
    letAllOn();
    await environment.until(Promise.all([stopped, drained]));
    expect(await countHints(db.store)).toEqual({});
    expect(db.pool.worked.size).toBe(0);
  });

  test("ends with the database", async () => {
    const { gated: slow, letAllOn } = gated("slow");
    await start([slow]);
    const worker = db.pool.work();
    await environment.advance(500);
    const refused = expect(db.pool.drain()).rejects.toThrow("The database was closed");
    await environment.settle();
    const closed = db.pool.close();
    letAllOn();
    await environment.until(Promise.all([refused, closed, worker.stop()]));
    expect(db.pool.worked.size).toBe(0);
  });
});
