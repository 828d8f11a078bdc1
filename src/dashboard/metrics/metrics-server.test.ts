import { connect } from "node:net";
import { text as textOf } from "node:stream/consumers";
import { afterEach, expect, test } from "vitest";
import { type Database, open } from "../../database/index.js";
import { metricPrefix } from "../../events/index.js";
import { observer } from "../../observer/index.js";
import { table, text } from "../../schema/index.js";
import { gaugeCatalogue } from "./gauges.js";
import { type MetricsServer, serveMetrics } from "./metrics-server.js";

const pages = table("pages", { body: text(), title: text() });
const titles = observer("titles", pages.body, (tx, { row, value }) => tx.set(pages.title, row, value ?? ""));

let db: Database;
let server: MetricsServer | undefined;
afterEach(async () => {
  await server?.close();
  await db.close();
});

async function start() {
  db = await open("memory:", { observers: [titles], collectEveryMs: 0 });
  server = await serveMetrics(db, { labels: { process: "1" } });
  return server;
}

test("serves the metrics of the process and of the store", async () => {
  const { url } = await start();
  for (const row of ["a", "b"]) await db.transact((tx) => tx.set(pages.body, row, "x"));
  const response = await fetch(url);
  expect(response.headers.get("content-type")).toBe("text/plain; version=0.0.4; charset=utf-8");
  const lines = (await response.text()).split("\n");
  expect(lines).toContain('percolator_pending_changes{process="1",observer="titles"} 2');
  expect(lines).toContain('percolator_parked_changes{process="1",observer="titles"} 0');
  const commits = Number(lines.find((line) => line.startsWith("percolator_commits_total{"))?.split(" ")[1]);
  expect(commits).toBe(db.metrics.commits);
  for (const { name, kind } of gaugeCatalogue) {
    // Of what this database does not have.
    const isAbsent = /^(safepoint_age|coordinator|attached|overdue|oldest_overdue)_/.test(name);
    expect(lines.includes(`# TYPE ${metricPrefix}${name} ${kind}`)).toBe(!isAbsent);
  }
});

test("answers /healthz, and refuses unknown paths and methods", async () => {
  const { url } = await start();
  const health = await fetch(new URL("/healthz", url));
  expect([health.status, await health.text()]).toEqual([200, "ok\n"]);
  expect((await fetch(new URL("/", url))).status).toBe(404);
  expect((await fetch(url, { method: "POST" })).status).toBe(405);
  const closed = db;
  db = await open("memory:");
  await closed.close();
  const sick = await fetch(new URL("/healthz", url));
  expect(sick.status).toBe(503);
  expect(await sick.text()).toContain("was closed");
});

test("refuses a request target that is not a path, and continues", async () => {
  const { url } = await start();
  const socket = connect(Number(new URL(url).port), "127.0.0.1");
  socket.write("GET // HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
  expect(await textOf(socket)).toMatch(/^HTTP\/1\.1 400 /);
  expect((await fetch(new URL("/healthz", url))).status).toBe(200);
});

test("an error for an address in use names it", async () => {
  const { url } = await start();
  const port = Number(new URL(url).port);
  await expect(serveMetrics(db, { port })).rejects.toThrow(`Metrics cannot be served at 127.0.0.1:${port}`);
});
