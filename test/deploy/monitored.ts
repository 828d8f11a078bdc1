import { type Database, observer, open, table, text } from "percolatordb";
import { serveCoordinatorMetrics, serveMetrics } from "percolatordb/dashboard";
import { attachTables } from "percolatordb/postgres";
import { schedule } from "percolatordb/recipes";
import { vi } from "vitest";
import { Shop } from "../postgres/attach/shop.js";
import { Coordinators } from "../support/coordinator/coordinators.js";
import { temporaryFolder } from "../support/databases.js";
import { MadeCertificate } from "./certificates.js";

/**
 * Databases under work whose metrics are served: a folder, a cluster with a coordinator, and a database
 * on PostgreSQL with an attached table.
 */

const pages = table("pages", { body: text(), title: text() });
const totals = table("totals", { pages: text() });

/** Runs of it fail for some changes, which are parked. */
const titles = observer(
  "titles",
  pages.body,
  (tx, { row, value }) => {
    if (value === "bad") throw new Error("no title");
    tx.set(pages.title, row, value ?? "");
  },
  { attempts: 1 },
);
const counts = observer("counts", pages.body, async (tx) => {
  const before = Number((await tx.get(totals.pages, "all")) ?? 0);
  tx.set(totals.pages, "all", String(before + 1));
});
const reminders = schedule("reminders", { value: text(), fire: () => {} });
const clustered = table("clustered", { body: text() });

/** A page of metrics, and the name of its process. */
export interface Served {
  readonly url: string;
  readonly instance: string;
}

export interface Monitored extends AsyncDisposable {
  readonly served: readonly Served[];
  /** Commits changes of all kinds once more, and waits until they are handled. */
  work(): Promise<void>;
}

/** Starts them. Each gauge of theirs has a sample when this resolves. */
export async function monitored(): Promise<Monitored> {
  const ends: (() => unknown)[] = [];
  const end = async () => {
    for (const each of ends.splice(0).reverse()) await each();
  };
  try {
    return { ...(await start((each) => ends.push(each))), [Symbol.asyncDispose]: end };
  } catch (error) {
    await end();
    throw error;
  }
}

async function start(onEnd: (end: () => unknown) => void): Promise<Omit<Monitored, keyof AsyncDisposable>> {
  const folder = await temporaryFolder();
  onEnd(folder.remove);
  const { tables } = reminders;
  const db = await open(folder.path, { tables, observers: [titles, counts], collectEveryMs: 0 });
  onEnd(() => db.close());
  const coordinators = new Coordinators();
  onEnd(() => coordinators.close());
  const certificate = new MadeCertificate(["localhost"]);
  onEnd(() => certificate.remove());
  const { cert, key } = certificate;
  const leader = await coordinators.lead({ listen: "localhost:0", tls: { cert, key } });
  const cluster = await open(coordinators.store, {
    tables: [clustered],
    collectEveryMs: 0,
    coordinator: { addresses: [leader.address], tls: { ca: cert } },
  });
  onEnd(() => cluster.close());
  db.work();
  const shop = await Shop.create();
  onEnd(() => shop[Symbol.asyncDispose]());
  const { orders } = shop.declare();
  const attached = await open(shop.place.location, { tables: [orders], collectEveryMs: 0 });
  onEnd(() => attached.close());
  await attachTables(attached, [orders]);
  await shop.sql("insert into T.orders values (1, 'a', 1)");
  const servers = [
    await serveMetrics(db),
    await serveMetrics(cluster),
    await serveCoordinatorMetrics(leader),
    await serveMetrics(attached),
  ];
  for (const server of servers) onEnd(() => server.close());
  const live = db.live((view) => view.get(totals.pages, "all"))[Symbol.asyncIterator]();
  onEnd(() => live.return?.());
  await live.next();

  const work = async () => {
    await conflict(db);
    for (const [row, body] of Object.entries({ a: "Hello", b: "bad", c: "Hello again" }))
      await db.transact((tx) => tx.set(pages.body, row, body));
    await db.drain();
    await cluster.transact((tx) => tx.set(clustered.body, "a", "x"));
  };
  await work();
  await db.collect();
  await untilShown(servers[0]!.url, "percolator_safepoint_age_seconds ");
  await untilShown(servers[3]!.url, "percolator_attached_problem{");
  const instances = ["folder", "cluster", "coordinator", "attached"];
  return { served: servers.map(({ url }, index) => ({ url, instance: instances[index]! })), work };
}

/** Waits until a page has a metric. A gauge of the store is there after the store was read. */
async function untilShown(url: string, metric: string): Promise<void> {
  await vi.waitFor(
    async () => {
      const shown = await (await fetch(url)).text();
      if (!shown.includes(metric)) throw new Error(`${metric} is not there yet.`);
    },
    { timeout: 60_000, interval: 50 },
  );
}

/** Lets one transaction of the database lose to another one. */
async function conflict(db: Database): Promise<void> {
  const loser = await db.begin();
  await loser.get(totals.pages, "contended");
  await db.transact((tx) => tx.set(totals.pages, "contended", "theirs"));
  loser.set(totals.pages, "contended", "mine");
  await loser.commit().catch(() => undefined);
}
