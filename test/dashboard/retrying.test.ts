import { type Database, observer, table, text } from "percolatordb";
import { describe, expect, test } from "vitest";
import type { Failures, Overview, Retrying } from "../../src/dashboard/api/index.js";
import { variants, withDatabase } from "../support/databases.js";
import { served } from "./pipeline.js";

/** Changes that fail and are not parked yet. */

const orders = table("orders", { placed: text(), note: text() });
/** After a failure, nothing is tried again during the test. */
const patient = { attempts: 3, backoff: { initialMs: 3_600_000, maximumMs: 3_600_000 } };
const approve = observer(
  "approve",
  orders.placed,
  (_, { row, value }) => {
    if (value !== "good") throw new RangeError(`Order ${row} of "${value}" was refused`);
  },
  patient,
);
const notify = observer(
  "notify",
  orders.note,
  (_, { row }) => {
    throw new Error(`No answer: 10.0.0.${row.length}`);
  },
  { attempts: 1 },
);

type Served = Awaited<ReturnType<typeof served>>;

describe.each(variants)("changes that are tried again, over $store, commit $commit", (variant) => {
  const run = (use: (db: Database, dashboard: Served) => Promise<void>) =>
    withDatabase(
      variant,
      { tables: [orders], observers: [approve, notify], collectEveryMs: 0 },
      async (db) => {
        await using dashboard = await served(db, { tables: [orders] });
        await db.transact((tx) => {
          for (const row of ["o-1", "o-2", "o-3"]) tx.set(orders.placed, row, "oslo");
          tx.set(orders.placed, "o-4", "good");
          tx.set(orders.note, "o-1", "x");
        });
        const failed = new Set<string>();
        const parked = new Promise<void>((resolve) => {
          db.on("run", ({ observer: by, outcome, cause }) => {
            if (outcome === "failed" || outcome === "parked") failed.add(`${by} ${String(cause.cell.row)}`);
            if (failed.size === 4) resolve();
          });
        });
        const worker = db.work();
        await parked;
        // Ends what the last runs still write.
        await worker.stop();
        // Waits too, and has not failed.
        await db.transact((tx) => tx.set(orders.placed, "o-9", "oslo"));
        await use(db, dashboard);
      },
    );

  test("are grouped as parked ones are, with when they run again", () =>
    run(async (_, { get }) => {
      const before = Date.now();
      const { groups, total, others } = await get<Retrying>("retrying");
      expect([total, others]).toEqual([{ count: 3, isBound: false }, 0]);
      expect(groups).toMatchObject([
        { observer: "approve", message: 'RangeError: Order o-# of "…" was refused', count: 3 },
      ]);
      const [{ newest, firstAt, lastAt }] = groups as [Retrying["groups"][number]];
      expect(lastAt).toBeGreaterThanOrEqual(firstAt);
      expect(newest.map(({ row }) => row).sort()).toEqual(["o-1", "o-2", "o-3"]);
      for (const change of newest) {
        expect(change).toMatchObject({ observer: "approve", table: "orders", column: "placed", attempts: 1 });
        expect(change.error).toBe(`RangeError: Order ${change.row} of "oslo" was refused`);
        // The wait is an hour, less jitter.
        expect(change.nextAt).toBeGreaterThan(before);
        expect(change.changedAt).toBeLessThanOrEqual(Date.now());
      }
      // What is parked is in the other list.
      expect((await get<Failures>("failures")).groups).toMatchObject([{ observer: "notify", count: 1 }]);
      const counts = async () =>
        (await get<Overview>("overview")).observers.map(({ name, retrying, parked }) => [
          name,
          retrying.count,
          parked.count,
        ]);
      await expect.poll(counts).toEqual([
        ["approve", 3, 0],
        ["notify", 0, 1],
      ]);
      // The same kind of error of a parked change has the same group.
      const [{ id }] = groups as [Retrying["groups"][number]];
      expect(JSON.parse(Buffer.from(id, "base64url").toString("utf8"))).toEqual([
        "approve",
        'RangeError: Order o-# of "…" was refused',
      ]);
    }));

  test("are found by a part of their error and by their observer", () =>
    run(async (_, { get }) => {
      expect((await get<Retrying>("retrying?text=ORDER+O-2")).groups).toMatchObject([{ count: 1 }]);
      expect((await get<Retrying>("retrying?text=no+such+thing")).groups).toEqual([]);
      expect((await get<Retrying>("retrying?observer=notify")).groups).toEqual([]);
      expect((await get<Retrying>("retrying?observer=approve")).total.count).toBe(3);
      await expect(get("retrying?observer=nobody")).rejects.toThrow("404");
    }));
});
