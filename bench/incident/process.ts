/** One process of the incident: a worker, with or without a dashboard and a load. */
import { open } from "percolatordb";
import { serveDashboard } from "percolatordb/dashboard";
import { serve } from "../harness/child.js";
import { pause } from "../harness/pause.js";
import { carts, observers, orders, soldItems, tables, totals } from "./tables.js";

export interface Opening {
  readonly path: string;
  /** The folder of the built pages. Undefined: the process serves no dashboard. */
  readonly pages: string | undefined;
  /** Dashboards of other processes. */
  readonly from: readonly string[];
}

const cities = ["bergen", "oslo", "tromsø"] as const;
/** Transactions that count visits at the same time, all in one row. */
const visitors = 6;

let close: () => unknown = () => undefined;
let db: Awaited<ReturnType<typeof open>>;
let isLoading = false;
let committed = 0;

async function placeOrders(perSecond: number): Promise<void> {
  const begunAt = performance.now();
  for (let number = 1; isLoading; number++) {
    const row = [cities[number % cities.length]!, number % 5_000] as const;
    const items = [{ sku: `sku-${number % 90}`, count: 1 + (number % 3) }];
    const order = { customer: `customer-${number % 700}`, items, cents: 100 + ((number * 37) % 9_000) };
    const placing = db.transact(
      (tx) => {
        tx.set(orders.placed, row, order);
        tx.set(carts.sku, order.customer, items[0]!.sku);
        soldItems.add(tx, items[0]!.sku, 1);
      },
      { label: "place order" },
    );
    placing.then(
      () => committed++,
      () => undefined,
    );
    const aheadMs = (number / perSecond) * 1_000 - (performance.now() - begunAt);
    if (aheadMs > 0) await pause(aheadMs);
    else if (number % 20 === 0) await placing.catch(() => undefined);
  }
}

async function countVisits(visitor: number): Promise<void> {
  while (isLoading) {
    const counting = db.transact(
      async (tx) => {
        const visits = (await tx.get(totals.visits, "today")) ?? 0;
        await pause(visitor);
        tx.set(totals.visits, "today", visits + 1);
      },
      { label: "count visit", retries: 3 },
    );
    await counting.catch(() => undefined);
    await pause(40);
  }
}

/** A few slow reports. */
async function report(): Promise<void> {
  while (isLoading) {
    const reporting = db.transact(
      async (tx) => {
        for await (const _ of tx.scan(orders.placed, { limit: 50 })) await pause(5);
        tx.set(totals.cents, "report", 1);
      },
      { label: "monthly report" },
    );
    await reporting.catch(() => undefined);
    await pause(500);
  }
}

serve({
  /** Opens the folder and begins to work. Resolves to the dashboard's address, if there is one. */
  async open({ path, pages, from }: Opening): Promise<string | undefined> {
    db = await open(path, { tables, observers });
    const worker = db.work();
    const options = { location: "./shop", writable: true, tables, observers, from };
    const dashboard = pages === undefined ? undefined : await serveDashboard(db, { ...options, pages });
    const loads: Promise<void>[] = [];
    close = async () => {
      isLoading = false;
      await Promise.all(loads);
      await dashboard?.close();
      await worker.stop();
      await db.close();
    };
    start = (perSecond) => {
      isLoading = true;
      loads.push(placeOrders(perSecond), report());
      for (let visitor = 1; visitor <= visitors; visitor++) loads.push(countVisits(visitor));
    };
    return dashboard?.url;
  },
  load: (perSecond: number) => start(perSecond),
  /** Orders that this process has committed. */
  committed: () => committed,
  close: () => close(),
});

let start: (perSecond: number) => void = () => undefined;
