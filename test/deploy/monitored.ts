import { type Database, observer, open, table, text } from "percolatordb";
import { serveCoordinatorMetrics, serveMetrics } from "percolatordb/dashboard";
import { vi } from "vitest";
import { Coordinators } from "../support/coordinator/coordinators.js";
import { temporaryFolder } from "../support/databases.js";
import { MadeCertificate } from "./certificates.js";

/** Databases under work whose metrics are served: a folder, and a cluster with a coordinator. */

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
  const db = await open(folder.path, { observers: [titles, counts], collectEveryMs: 0 });
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
  const servers = [
    await serveMetrics(db),
    await serveMetrics(cluster),
    await serveCoordinatorMetrics(leader),
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
  const [first] = servers;
  await vi.waitFor(
    async () => {
      const shown = await (await fetch(first!.url)).text();
      if (!shown.includes("percolator_safepoint_age_seconds "))
        throw new Error("The gauges are not there yet.");
    },
    { timeout: 60_000, interval: 50 },
  );
  const instances = ["folder", "cluster", "coordinator"];
  return { served: servers.map(({ url }, index) => ({ url, instance: instances[index]! })), work };
}

/** Lets one transaction of the database lose to another one. */
async function conflict(db: Database): Promise<void> {
  const loser = await db.begin();
  await loser.get(totals.pages, "contended");
  await db.transact((tx) => tx.set(totals.pages, "contended", "theirs"));
  loser.set(totals.pages, "contended", "mine");
  await loser.commit().catch(() => undefined);
}
