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

test("without a token it answers only requests with a name of this machine", async () => {
  const { url } = await start();
  const statusOf = async (at: string, host: string) => {
    const socket = connect(Number(new URL(at).port), "127.0.0.1");
    socket.write(`GET /metrics HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n\r\n`);
    return /^HTTP\/1\.1 (\d+)/.exec(await textOf(socket))?.[1];
  };
  // A page of another site may let its own name resolve to this machine.
  for (const host of ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example:80"])
    expect(await statusOf(url, host)).toBe("421");
  for (const host of ["localhost:9464", "127.0.0.1", "[::1]:9464"])
    expect(await statusOf(url, host)).toBe("200");
  await using withToken = await serveMetrics(db, { token: "0123456789abcdef" });
  expect(await statusOf(withToken.url, "metrics.example")).toBe("401");
  await using forAll = await serveMetrics(db, { insecure: true });
  expect(await statusOf(forAll.url, "metrics.example")).toBe("200");
});

test("an error for an address in use names it", async () => {
  const { url } = await start();
  const port = Number(new URL(url).port);
  await expect(serveMetrics(db, { port })).rejects.toThrow(`Metrics cannot be served at 127.0.0.1:${port}`);
});
