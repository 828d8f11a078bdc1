import { expect, test } from "vitest";
import { openTest } from "../../../test/support/observer/context.js";
import { documents } from "../../../test/support/observer/documents.js";
import { memoryStore } from "../../store/memory/index.js";
import { type Observer, observer, unregister } from "../index.js";

const make = (name: string, version = 1): Observer =>
  observer(name, documents.contents, () => {}, { version });

test("a worker is ready while it runs one of its observers, and names those that it does not run", async () => {
  const store = memoryStore();
  const db = await openTest({ store, observers: [make("one"), make("two")] });
  const worker = db.pool.work();
  expect(await worker.readiness()).toEqual({
    isReady: false,
    isObsolete: false,
    reasons: [
      "The worker has not started: it waits until the store and the other processes know its session.",
    ],
  });
  await worker.idle();
  expect(await worker.readiness()).toEqual({ isReady: true, isObsolete: false, reasons: [] });
  const newer = await openTest({ store, observers: [make("one", 2)] });
  const ofOne =
    'Observer "one" is now registered in version 2; this program has version 1 and no longer runs it.';
  expect(await worker.readiness()).toEqual({ isReady: true, isObsolete: false, reasons: [ofOne] });
  await unregister(newer.registry, "two");
  const ofTwo = 'Observer "two" was unregistered; this program has version 1 and no longer runs it.';
  expect(await worker.readiness()).toEqual({ isReady: false, isObsolete: true, reasons: [ofOne, ofTwo] });
  // Registered again in this version, so the worker runs it.
  await newer.registry.register([], [make("two")]);
  expect(await worker.readiness()).toEqual({ isReady: true, isObsolete: false, reasons: [ofOne] });
  await worker.stop();
  expect((await worker.readiness()).isReady).toBe(false);
  for (const each of [db, newer]) await each.close();
});
