import type { Snapshot } from "percolatordb";
import { beforeEach, expect, it } from "vitest";
import { SharedViews } from "./shared-view.js";

let now = 0;
let opened = 0;
let open = 0;
let takesMs = 0;
let views: SharedViews<number>;

beforeEach(() => {
  [now, opened, open, takesMs] = [0, 0, 0, 0];
  views = new SharedViews(
    async () => {
      open++;
      return { close: async () => void open-- } as unknown as Snapshot;
    },
    async () => {
      now += takesMs;
      return ++opened;
    },
    () => now,
  );
});

const used = () => views.use(async (view) => view);

it("lets searches that come together share one view", async () => {
  expect(await Promise.all([used(), used(), used()])).toEqual([1, 1, 1]);
  now += 20;
  expect(await used()).toBe(1);
  expect(open).toBe(1);
  await views.close();
  expect(open).toBe(0);
});

it("reads a newer view in the background, and never uses one that is older than 900 ms", async () => {
  await used();
  now += 21;
  expect(await used()).toBe(1);
  await new Promise(setImmediate);
  expect(await used()).toBe(2);
  now += 900;
  expect(await used()).toBe(2);
  await new Promise(setImmediate);
  expect(await used()).toBe(3);
  now += 901;
  expect(await used()).toBe(4);
  expect(open).toBe(1);
});

it("uses a view the longer the more time it took to read it", async () => {
  takesMs = 4;
  await used();
  now += 75;
  await used();
  await new Promise(setImmediate);
  expect(opened).toBe(1);
  now += 2;
  await used();
  await new Promise(setImmediate);
  expect(opened).toBe(2);
  takesMs = 40;
  now += 81;
  await used();
  await new Promise(setImmediate);
  expect(opened).toBe(3);
  now += 655;
  await used();
  await new Promise(setImmediate);
  expect(opened).toBe(3);
  now += 10;
  expect(await used()).toBe(3);
  await new Promise(setImmediate);
  expect(opened).toBe(4);
});

it("closes a replaced snapshot after the last search that uses it", async () => {
  let end = () => {};
  const slow = views.use(() => new Promise<void>((resolve) => (end = resolve)));
  await new Promise(setImmediate);
  now += 2_000;
  expect(await used()).toBe(2);
  expect(open).toBe(2);
  end();
  await slow;
  expect(open).toBe(1);
});

it("reports a failed read to the searches that wait for it, and tries again", async () => {
  let fails = true;
  const failing = new SharedViews(
    async () => ({ close: async () => void open++ }) as unknown as Snapshot,
    async () => {
      if (fails) throw new Error("unreadable");
      return 7;
    },
    () => now,
  );
  const one = failing.use(async (view) => view);
  const other = failing.use(async (view) => view);
  await expect(one).rejects.toThrow("unreadable");
  await expect(other).rejects.toThrow("unreadable");
  expect(open).toBe(1);
  fails = false;
  expect(await failing.use(async (view) => view)).toBe(7);
});

it("never closes the snapshot of a search that begins while a newer view replaces its own", async () => {
  for (let ticks = 0; ticks < 20; ticks++) {
    const closed = new Set<number>();
    let last = 0;
    const shared = new SharedViews(
      async () => {
        const id = ++last;
        return { id, close: async () => void closed.add(id) } as unknown as Snapshot;
      },
      async (snapshot) => (snapshot as unknown as { readonly id: number }).id,
      () => now,
    );
    const usedUnclosed = () => shared.use(async (view) => closed.has(view));
    await usedUnclosed();
    now += 21;
    const begun = [usedUnclosed()];
    for (let tick = 0; tick < ticks; tick++) await undefined;
    begun.push(usedUnclosed());
    const closing = shared.close();
    begun.push(usedUnclosed());
    expect(await Promise.all(begun)).toEqual([false, false, false]);
    await closing;
    await shared.close();
    expect(closed.size).toBe(last);
  }
});
