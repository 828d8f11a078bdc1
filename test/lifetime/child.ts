/**
 * Opens a database of a kind, uses it, closes it, and prints what still keeps the process alive:
 * `child.ts KIND PLACE`. It does not end the process, because the test waits for its end.
 */
import { setImmediate } from "node:timers/promises";
import {
  type Database,
  type OpenOptions,
  observer,
  open,
  systemEnvironment,
  table,
  text,
} from "percolatordb";
import { startCoordinator } from "percolatordb/coordinator";
import { serveDashboard, serveMetrics } from "percolatordb/dashboard";
import { memoryStore } from "percolatordb/memory";
import { postgresStore } from "percolatordb/postgres";
import { Pool } from "pg";

const things = table("things", { name: text(), copy: text() });
const copies = observer("copies", things.name, (tx, { row, value }) => tx.set(things.copy, row, value ?? ""));
const observers = [copies];

async function use(db: Database): Promise<void> {
  await db.transact((tx) => tx.set(things.name, "a", "x"), { timeoutMs: 600_000 });
  await using worker = db.work();
  await worker.idle();
  await db.transact((tx) => tx.set(things.name, "b", "y"), { signal: new AbortController().signal });
  await db.drain();
  await using snapshot = await db.snapshot();
  await snapshot.get(things.copy, "b");
  await db.status();
  await db.reach();
  await db.collect();
  await db.check();
}

async function used(place: string, options: OpenOptions = {}): Promise<void> {
  await using db = await open(place, { observers, ...options });
  await use(db);
}

/**
 * The kinds: each leaves open something that must not keep the process alive, as a program may do.
 */
export const kinds: Readonly<Record<string, (place: string) => Promise<void>>> = {
  memory: () => used("memory:"),
  "memory in two phases": () => used("memory:", { commit: "two-phase" }),
  folder: (place) => used(place),
  "folder without durability": (place) => used(place, { durability: "none" }),
  "folder in two phases": (place) => used(place, { commit: "two-phase" }),
  "folder, opened twice": async (place) => {
    await using first = await open(place, { observers });
    await used(place);
    await use(first);
  },
  "folder, only read": async (place) => {
    await used(place);
    await using db = await open(place, { readOnly: true });
    await using _snapshot = await db.snapshot();
  },
  "folder with a coordinator inside": (place) => used(place, { coordinator: "auto" }),
  "folder with a coordinator that is away": (place) => used(place, { coordinator: "127.0.0.1:1" }),
  "folder with an abandoned transaction": async (place) => {
    await using db = await open(place, { observers });
    const tx = await db.begin({ timeoutMs: 600_000 });
    tx.set(things.name, "c", "z");
    await db.snapshot();
  },
  "folder with a run that waits for its next attempt": async (place) => {
    const failing = observer("failing", things.name, () => Promise.reject(new Error("no")), {
      backoff: { initialMs: 600_000, maximumMs: 600_000 },
    });
    await using db = await open(place, { observers: [failing] });
    db.work();
    const failed = new Promise<void>((resolve) => {
      db.on("run", ({ outcome }) => {
        if (outcome === "failed") resolve();
      });
    });
    await db.transact((tx) => tx.set(things.name, "a", "x"));
    await failed;
  },
  "folder with a dashboard and metrics": async (place) => {
    await using db = await open(place, { observers });
    await using dashboard = await serveDashboard(db);
    await using metrics = await serveMetrics(db);
    for (const url of [`${dashboard.url}api/overview`, metrics.url]) {
      await (await fetch(url, { headers: { connection: "close" } })).text();
    }
    await use(db);
  },
  "client of a coordinator in this process": async () => {
    const store = memoryStore({ atomicBatches: false });
    await using coordinator = await startCoordinator({ store, environment: systemEnvironment });
    await using db = await open(store, { observers, coordinator: coordinator.address });
    await use(db);
  },
  "folder that cannot be opened": async (place) => {
    await open(place, { create: false }).catch(() => undefined);
    await open(place, { coordinator: { start: true, tls: true } }).catch(() => undefined);
  },
  bigtable: (place) => used(place, { coordinator: "auto" }),
  postgres: (place) => used(place),
  "postgres on a pool of the program": async (place) => {
    const parameters = new URLSearchParams(place.split("?")[1]);
    const pool = new Pool({ host: parameters.get("host")!, user: "postgres", database: "postgres" });
    const schema = parameters.get("schema")!;
    {
      await using db = await open(await postgresStore({ pool, schema }), { observers });
      await use(db);
    }
    await pool.end();
  },
  "postgres in two phases": (place) => used(place, { commit: "two-phase" }),
  "postgres that cannot be opened": async (place) => {
    await open(place, { create: false }).catch(() => undefined);
  },
};

const say = (what: unknown) => process.stdout.write(`${JSON.stringify(what)}\n`);
/** The most turns of the event loop to wait. Closed sockets disappear after a few. */
const maxTurns = 1_000;

const [kind, place] = process.argv.slice(2);
if (kind === undefined || place === undefined) {
  say(Object.keys(kinds));
} else {
  await kinds[kind]!(place);
  const kept = () =>
    process.getActiveResourcesInfo().filter((each) => !/^(PipeWrap|TTYWrap|Immediate)$/.test(each));
  for (let turn = 0; turn < maxTurns && kept().length > 0; turn++) await setImmediate();
  say(kept());
}
