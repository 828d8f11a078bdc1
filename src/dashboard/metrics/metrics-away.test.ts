import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Coordinators } from "../../../test/support/coordinator/coordinators.js";
import { type Database, open } from "../../database/index.js";
import { systemEnvironment } from "../../environment/index.js";
import { table, text } from "../../schema/index.js";
import type { RowStore } from "../../store/index.js";
import { coordinatorCatalogue } from "./coordinator-metrics.js";
import { type MetricsServer, serveCoordinatorMetrics, serveMetrics } from "./metrics-server.js";

/** Tests what the metrics server answers while the store or the coordinator does not answer. */

const pages = table("pages", { body: text() });
let all: Coordinators;
let db: Database | undefined;
let server: MetricsServer | undefined;
let answerStore: () => void = () => undefined;

beforeEach(() => {
  all = new Coordinators();
});

afterEach(async () => {
  answerStore();
  await server?.close();
  await db?.close();
  await all.close();
  [db, server] = [undefined, undefined];
});

const eventually = (check: () => Promise<void>) => vi.waitFor(check, { timeout: 60_000, interval: 20 });

async function ask(path: string): Promise<{ status: number; text: string }> {
  const response = await fetch(new URL(path, server!.url));
  return { status: response.status, text: await response.text() };
}

const sampleOf = ({ text: shown }: { text: string }, name: string) =>
  shown
    .split("\n")
    .find((line) => line.startsWith(`percolator_${name} `))
    ?.split(" ")[1];

/** The store of the coordinators. After `pause` it does not answer. */
function pausable(): { readonly store: RowStore; pause(): void } {
  let paused: Promise<void> | undefined;
  const { store: real } = all;
  const store = new Proxy(real, {
    get(target, name) {
      if (name === "close") return async () => undefined;
      if (name === "readRow")
        return async (...read: Parameters<RowStore["readRow"]>) => {
          await paused;
          return await real.readRow(...read);
        };
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
  const pause = () => {
    paused = new Promise((resolve) => {
      answerStore = resolve;
    });
  };
  return { store, pause };
}

async function serve(token?: string) {
  const { store, pause } = pausable();
  const coordinator = await all.lead({ token });
  db = await open(store, {
    collectEveryMs: 0,
    tables: [pages],
    coordinator: { token, addresses: [coordinator.address] },
  });
  server = await serveMetrics(db);
  await db.transact((tx) => tx.set(pages.body, "a", "x"));
  await eventually(async () => {
    const metrics = await ask("/metrics");
    expect([sampleOf(metrics, "store_answers"), sampleOf(metrics, "coordinator_answers")]).toEqual([
      "1",
      "1",
    ]);
    expect(sampleOf(metrics, "standing_stale")).toBe("0");
  });
  await eventually(async () => expect(await ask("/readyz")).toEqual({ status: 200, text: "ok\n" }));
  return { coordinator, pause };
}

test("without a coordinator the metrics of the process are served, and say that it does not answer", async () => {
  const { coordinator } = await serve();
  await coordinator.stop();
  await eventually(async () => expect(sampleOf(await ask("/metrics"), "coordinator_answers")).toBe("0"));
  const metrics = await ask("/metrics");
  expect(metrics.status).toBe(200);
  expect(metrics.text).toContain("percolator_commits_total 1");
  await eventually(async () => expect(sampleOf(await ask("/metrics"), "store_answers")).toBe("1"));
  expect(await ask("/healthz")).toEqual({ status: 200, text: "ok\n" });
  const ready = await ask("/readyz");
  expect(ready).toMatchObject({ status: 503, text: expect.stringMatching(/coordinator: /) });
});

test("a coordinator that refuses the token counts as not answering, and the reason is shown", async () => {
  const { coordinator } = await serve("the-first-token");
  const listen = coordinator.address;
  await coordinator.stop();
  await all.lead({ token: "another-token", listen });
  await eventually(async () =>
    expect(await ask("/readyz")).toMatchObject({ status: 503, text: expect.stringContaining("same token") }),
  );
  expect(sampleOf(await ask("/metrics"), "coordinator_answers")).toBe("0");
});

test("with a store that never answers, the metrics of the process are served, and the others are marked stale", async () => {
  const { pause } = await serve();
  // The server counts the store again only after ten seconds. The test moves the clock past them.
  await server!.close();
  let passedMs = 0;
  const environment = {
    ...systemEnvironment,
    now: () => systemEnvironment.now() + passedMs,
    monotonic: () => systemEnvironment.monotonic() + passedMs,
  };
  server = await serveMetrics(db!, { environment });
  await eventually(async () => expect(sampleOf(await ask("/metrics"), "standing_stale")).toBe("0"));
  pause();
  passedMs = 20_000;
  const metrics = await ask("/metrics");
  expect(metrics.status).toBe(200);
  expect(sampleOf(metrics, "store_answers")).toBe("0");
  expect(sampleOf(metrics, "standing_stale")).toBe("1");
  expect(Number(sampleOf(metrics, "standing_age_seconds"))).toBeGreaterThanOrEqual(20);
  expect(sampleOf(metrics, "latest_timestamp")).toBeDefined();
  expect(metrics.text).toContain("percolator_commits_total 1");
  expect(await ask("/healthz")).toMatchObject({ status: 200 });
  expect(await ask("/readyz")).toMatchObject({ status: 503, text: expect.stringContaining("store: ") });
});

test("a worker that cannot work says why, even if the store and the coordinator answer", async () => {
  await serve();
  await server!.close();
  let why: string | undefined = "The worker has not started yet.";
  server = await serveMetrics(db!, { unready: () => why });
  await eventually(async () => expect(await ask("/readyz")).toEqual({ status: 503, text: `${why}\n` }));
  why = undefined;
  await eventually(async () => expect(await ask("/readyz")).toEqual({ status: 200, text: "ok\n" }));
});

test("a coordinator serves its metrics: leadership, sessions and streams", async () => {
  const leader = await all.lead();
  const client = await all.member("s", { addresses: [leader.address] });
  await client.oracle.next();
  server = await serveCoordinatorMetrics(leader);
  const metrics = await ask("/metrics");
  const present = coordinatorCatalogue.filter(({ read }) => read(leader) !== undefined);
  for (const { name, kind } of present) expect(metrics.text).toContain(`# TYPE percolator_${name} ${kind}`);
  const figures = ["leads", "epoch", "sessions", "streams", "timestamps_total"].map((name) =>
    sampleOf(metrics, `coordinator_${name}`),
  );
  expect(figures).toEqual(["1", "1", "1", "2", "1"]);
  expect(await ask("/readyz")).toEqual({ status: 200, text: "ok, leading\n" });
  await leader.stop();
  expect(sampleOf(await ask("/metrics"), "coordinator_leads")).toBe("0");
  expect(await ask("/readyz")).toMatchObject({ status: 503 });
  expect(await ask("/healthz")).toMatchObject({ status: 200 });
});

test("beyond this machine metrics need a token, but the probes do not", async () => {
  db = await open("memory:");
  await expect(serveMetrics(db, { host: "0.0.0.0" })).rejects.toThrow(/--metrics-token-file.*--insecure/);
  await expect(serveMetrics(db, { token: "short" })).rejects.toThrow("at least 16 characters");
  await (await serveMetrics(db, { host: "0.0.0.0", insecure: true })).close();
  const token = "a-token-of-enough-characters";
  server = await serveMetrics(db, { host: "0.0.0.0", token });
  const url = server.url.replace("0.0.0.0", "127.0.0.1");
  const statuses = [];
  for (const given of [undefined, "guess-of-enough-characters", token]) {
    const headers: Record<string, string> = given === undefined ? {} : { authorization: `Bearer ${given}` };
    statuses.push((await fetch(url, { headers })).status);
  }
  expect(statuses).toEqual([401, 401, 200]);
  expect((await fetch(new URL("/healthz", url))).status).toBe(200);
  expect((await fetch(new URL("/readyz", url))).status).toBe(200);
});

test("a changed token is needed from then on, and an invalid token changes nothing", async () => {
  db = await open("memory:");
  const tokens = ["a-token-of-enough-characters", "another-token-of-enough-characters"] as const;
  let current: string | undefined = tokens[0];
  server = await serveMetrics(db, { token: () => current });
  const { url } = server;
  const statuses = () =>
    Promise.all(
      tokens.map(async (each) => (await fetch(url, { headers: { authorization: `Bearer ${each}` } })).status),
    );
  expect(await statuses()).toEqual([200, 401]);
  current = tokens[1];
  expect(await statuses()).toEqual([401, 200]);
  for (const useless of [undefined, "short", "two words of enough characters"]) {
    current = useless;
    expect(await statuses()).toEqual([401, 200]);
    expect((await fetch(url)).status).toBe(401);
  }
});

test("the gauges of a store that is away are marked stale although the last count was slow", async () => {
  const { pause } = await serve();
  await server!.close();
  let passedMs = 0;
  const environment = {
    ...systemEnvironment,
    now: () => systemEnvironment.now() + passedMs,
    monotonic: () => systemEnvironment.monotonic() + passedMs,
  };
  server = await serveMetrics(db!, { environment });
  pause();
  await ask("/metrics");
  // The count takes 20 seconds, so the next one begins 80 seconds after it.
  passedMs = 20_000;
  answerStore();
  await eventually(async () => expect(sampleOf(await ask("/metrics"), "standing_stale")).toBe("0"));
  pause();
  passedMs = 35_000;
  expect(sampleOf(await ask("/metrics"), "standing_stale")).toBe("1");
});
