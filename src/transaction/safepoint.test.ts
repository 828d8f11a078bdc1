import { expect, test } from "vitest";
import { DistantTestStore } from "../../test/support/distant-store.js";
import { systemEnvironment } from "../environment/index.js";
import { Safepoint } from "./safepoint.js";

test("those who look at the safepoint while it is being read wait for the one answer", async () => {
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
  // What was asked for so long ago says too little: a collection may have begun and be over.
  await Promise.all([first, safepoint.check(6)]);
  expect(store.reads.length).toBe(3);
});

test("whoever must know how it stands now asks for itself", async () => {
  const store = new DistantTestStore();
  const safepoint = new Safepoint(store, systemEnvironment, 1_000);
  await Promise.all([safepoint.check(1), safepoint.current(), safepoint.current()]);
  expect(store.reads.length).toBe(3);
});
