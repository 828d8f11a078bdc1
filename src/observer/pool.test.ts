import { getEventListeners } from "node:events";
import { expect, test } from "vitest";
import { openTest } from "./test-context.js";
import { length } from "./test-documents.js";
import { TestEnvironment } from "./test-environment.js";

test("a signal that outlives its workers holds none of them", async () => {
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

test("a signal stops its worker, before it has begun and after it", async () => {
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
