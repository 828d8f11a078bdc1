import { getEventListeners } from "node:events";
import { expect, test } from "vitest";
import { openTest } from "../../../test/support/observer/context.js";
import { documents, length } from "../../../test/support/observer/documents.js";
import { TestEnvironment } from "../../../test/support/observer/environment.js";
import { StoreFullError } from "../../errors/index.js";
import { memoryStore } from "../../store/memory/index.js";
import { observer } from "../index.js";
import { SessionRecords } from "../session/session-records.js";

/** A gate that observers wait for. */
class Gate {
  open = () => {};
  readonly opened = new Promise<void>((resolve) => {
    this.open = resolve;
  });
}

test("a signal that outlives its workers keeps none of them in memory", async () => {
  const environment = new TestEnvironment();
  const db = await openTest({ environment, observers: [length] });
  const { signal } = new AbortController();
  for (let count = 0; count < 3; count++) {
    const worker = db.pool.work({ signal });
    await environment.settle();
    expect(getEventListeners(signal, "abort")).toHaveLength(1);
    await environment.until(worker.stop());
    expect(getEventListeners(signal, "abort")).toHaveLength(0);
  }
  await environment.until(db.close());
});

test("a signal stops its worker, before or after the worker has begun", async () => {
  const environment = new TestEnvironment();
  const db = await openTest({ environment, observers: [length] });
  const controller = new AbortController();
  db.pool.work({ signal: controller.signal });
  await environment.settle();
  expect([...db.pool.worked.keys()]).toEqual(["length"]);
  controller.abort();
  db.pool.work({ signal: controller.signal });
  await environment.settle();
  expect(db.pool.worked.size).toBe(0);
  expect(db.failures).toEqual([]);
  await environment.until(db.close());
});

test("closing waits for the runs of a worker that is already stopping", async () => {
  const environment = new TestEnvironment();
  const gate = new Gate();
  const slow = observer("slow", documents.contents, async (tx, { row }) => {
    await gate.opened;
    tx.set(documents.words, row, 1);
  });
  const db = await openTest({ environment, observers: [slow] });
  const controller = new AbortController();
  db.pool.work({ signal: controller.signal });
  await environment.settle();
  await db.transact((tx) => tx.set(documents.contents, "a", "text"));
  await environment.settle();
  expect(db.pool.running).toBe(1);
  controller.abort();
  let isClosed = false;
  const closing = db.pool.close().then(() => {
    isClosed = true;
  });
  await environment.settle();
  expect(isClosed).toBe(false);
  gate.open();
  await environment.until(closing);
  expect(db.runs).toMatchObject([{ outcome: "committed" }]);
  expect(await db.transact((tx) => tx.get(documents.words, "a"))).toBe(1);
  const records = new SessionRecords(db.store, () => undefined);
  for await (const [session] of records.all()) expect.unreachable(`Session ${session} is recorded.`);
  expect(db.failures).toEqual([]);
  await environment.until(db.close());
});

test("a worker that cannot withdraw its announcement does not prevent another from closing", async () => {
  const environment = new TestEnvironment();
  const store = memoryStore({ environment });
  const gate = new Gate();
  const slow = observer("slow", documents.contents, () => gate.opened);
  const db = await openTest({ store, environment, observers: [length, slow] });
  db.pool.work({ observers: ["length"] });
  db.pool.work({ observers: ["slow"] });
  await environment.settle();
  await db.transact((tx) => tx.set(documents.contents, "a", "text"));
  await environment.settle();
  const { mutate } = store;
  store.mutate = () => Promise.reject(new StoreFullError("No space is left."));
  let isClosed = false;
  const closing = db.pool.close().finally(() => {
    isClosed = true;
  });
  const refused = expect(closing).rejects.toThrow(StoreFullError);
  await environment.settle();
  expect(isClosed).toBe(false);
  store.mutate = mutate;
  gate.open();
  await environment.until(refused);
  expect(db.pool.running).toBe(0);
  await environment.until(db.close());
});
