import { expect, test } from "vitest";
import { DistantTestStore } from "../../test/support/distant-store.js";
import { systemEnvironment } from "../environment/index.js";
import { Safepoint } from "./safepoint.js";

test("callers that check the safepoint while it is being read share the one answer", async () => {
  let now = 0;
  const store = new DistantTestStore();
  const safepoint = new Safepoint(store, { ...systemEnvironment, monotonic: () => now }, 1_000);
  await Promise.all([safepoint.check(1), safepoint.check(2), safepoint.check(3)]);
  expect(store.reads.length).toBe(1);
  await safepoint.check(4);
  expect(store.reads.length).toBe(1);
  now = 1_000;
  const first = safepoint.check(5);
  now = 2_000;
  // The first answer is too old to share. A collection may have begun and ended since that request.
  await Promise.all([first, safepoint.check(6)]);
  expect(store.reads.length).toBe(3);
});

test("a caller that needs the current state reads it itself", async () => {
  const store = new DistantTestStore();
  const safepoint = new Safepoint(store, systemEnvironment, 1_000);
  await Promise.all([safepoint.check(1), safepoint.current(), safepoint.current()]);
  expect(store.reads.length).toBe(3);
});

test("a copy from before the machine slept is too old, though the monotonic clock stood still", async () => {
  let wall = 1_700_000_000_000;
  const environment = { ...systemEnvironment, monotonic: () => 0, now: () => wall };
  const store = new DistantTestStore();
  const safepoint = new Safepoint(store, environment, 1_000);
  await safepoint.check(10);
  await new Safepoint(store, systemEnvironment, 1_000).publish(100);
  await safepoint.check(10);
  wall += 7_200_000;
  await expect((async () => safepoint.check(10))()).rejects.toMatchObject({ code: "STALE_SNAPSHOT" });
});

test("an answer that was overtaken by a newer one does not move the safepoint back", async () => {
  const store = new DistantTestStore();
  const safepoint = new Safepoint(store, systemEnvironment, 60_000);
  const readRow = store.readRow.bind(store);
  let answer = () => {};
  const held = new Promise<void>((resolve) => {
    answer = resolve;
  });
  store.readRow = async (read) => {
    const page = await readRow(read);
    await held;
    return page;
  };
  const early = safepoint.current();
  await new Promise((resolve) => setImmediate(resolve));
  store.readRow = readRow;
  await safepoint.publish(100);
  answer();
  expect(await early).toBe(100);
  await expect((async () => safepoint.check(10))()).rejects.toMatchObject({ code: "STALE_SNAPSHOT" });
});
