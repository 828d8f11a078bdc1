import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { open } from "percolatordb";
import { describe, expect, test } from "vitest";
import { build } from "./build.js";
import { describeHydration, type HydrationResult, isRightHydration, type Started } from "./figure.js";
import { customers, customersOf, orderOf, orders, totalsOf, waitingOf } from "./tables.js";
import { countWrong, rebuild } from "./twin.js";

const shape = { rows: 1_203, waiting: 250 };

describe("the database", () => {
  test("has derived totals and waiting changes, and the observer makes the totals equal to the rebuilt ones", async () => {
    const folder = await mkdtemp(join(tmpdir(), "percolatordb-hydration-"));
    try {
      await build(join(folder, "data"), shape);
      let commits = 0;
      const observers = [totalsOf(() => commits++)];
      await using db = await open(join(folder, "data"), { tables: [orders, customers], observers });
      const wrongNow = async () => {
        await using snapshot = await db.snapshot();
        return await countWrong(snapshot, await rebuild(snapshot));
      };
      let pending = 0;
      for await (const _ of db.pending()) pending++;
      expect(pending).toBe(shape.waiting);
      expect(await wrongNow()).toBeGreaterThan(0);
      await db.drain();
      expect(commits).toBe(shape.waiting);
      expect(await wrongNow()).toBe(0);
      await db.transact((tx) => tx.delete(customers.total, [3]));
      await db.transact((tx) => tx.set(customers.total, [4], -1));
      await db.transact((tx) => tx.set(customers.total, [999_999], 1));
      expect(await wrongNow()).toBe(3);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });

  test("has no order twice", () => {
    const all = [
      ...Array.from({ length: shape.rows }, (_, index) => orderOf(index)),
      ...Array.from({ length: shape.waiting }, (_, index) => waitingOf(index, shape)),
    ];
    expect(new Set(all.map(({ customer, number }) => `${customer}/${number}`)).size).toBe(all.length);
    expect(all.every(({ customer }) => customer >= 0 && customer < customersOf(shape))).toBe(true);
  });
});

const moment = (ms: number, mebibytes: number) => ({ ms, cpuMs: ms / 2, anonymous: mebibytes * 2 ** 20 });
const started = (ms: number, mebibytes: number, handled: number): Started => ({
  opened: moment(ms / 2, mebibytes),
  first: moment(ms, mebibytes),
  all: moment(ms * 2, mebibytes),
  handled,
});
const result = (ms: number, mebibytes: number, handled = 90, wrong = 0): HydrationResult => ({
  options: { rows: 1_000, waiting: 100, rounds: 1 },
  buildSeconds: 1,
  incremental: [started(ms, mebibytes, 1)],
  inMemory: [started(5_000, 900, 1_100)],
  drained: started(9_000, mebibytes, handled),
  wrong,
});

describe("the figure", () => {
  test("says whether the first derived commit is in time and within memory", () => {
    expect(describeHydration(result(999, 299)).join("\n")).not.toContain("missed");
    expect(describeHydration(result(1_000, 299)).join("\n")).toContain("1.00 s: **missed**");
    expect(describeHydration(result(999, 300)).join("\n")).toContain("300: **missed**");
  });

  test("is wrong if a total is wrong, or if a change was handled twice", () => {
    expect(isRightHydration(result(999, 299))).toBe(true);
    expect(isRightHydration(result(999, 299, 90, 1))).toBe(false);
    expect(isRightHydration(result(999, 299, 101))).toBe(false);
    expect(isRightHydration(result(999, 299, 0))).toBe(false);
  });
});
