import { isSpanContextValid, ProxyTracerProvider } from "@opentelemetry/api";
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
} from "@opentelemetry/sdk-trace-base";
import { afterEach, expect, test } from "vitest";
import { temporaryFolder } from "../../test/support/databases.js";
import { type Database, open } from "../database/index.js";
import { observer } from "../observer/index.js";
import { table, text } from "../schema/index.js";
import { commitIdGenerator, traceDatabase } from "./index.js";

const pages = table("pages", { body: text(), title: text() });
const titles = observer("titles", pages.body, (tx, { row, value }) => {
  if (value === "bad") throw new Error("no title");
  tx.set(pages.title, row, value ?? "");
});

let db: Database | undefined;
afterEach(() => db?.close());

/** A database whose spans an OpenTelemetry provider keeps in memory. */
async function traced() {
  const exporter = new InMemorySpanExporter();
  const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
  db = await open("memory:", { observers: [titles], collectEveryMs: 0 });
  const stop = traceDatabase(db, provider.getTracer("test"), { namespace: "shop" });
  const spans = (name: string) => exporter.getFinishedSpans().filter((span) => span.name === name);
  return { db, spans, stop };
}

test("a run's span links to the span of the transaction that made the change", async () => {
  const { db, spans } = await traced();
  await db.transact((tx) => tx.set(pages.body, "a", "Hello"), { label: "load" });
  await db.drain();
  const [load] = spans("percolator.transaction").filter(
    (span) => span.attributes["percolator.label"] === "load",
  );
  const [run] = spans("percolator.run titles");
  expect(load?.attributes).toMatchObject({ "percolator.outcome": "committed", "percolator.cells": 1 });
  expect(run?.attributes).toMatchObject({
    "percolator.outcome": "committed",
    "percolator.cause.table": "pages",
    "percolator.cause.row": "a",
    "percolator.cause.commit_timestamp": load?.attributes["percolator.commit_timestamp"],
  });
  expect(run?.links.map(({ context }) => context.spanId)).toEqual([load?.spanContext().spanId]);
  const nanoseconds = ([seconds, rest]: [number, number]) => seconds * 1e9 + rest;
  expect(nanoseconds(run!.endTime)).toBeGreaterThanOrEqual(nanoseconds(run!.startTime));
});

test("the span of a conflict names the winner, and the span of a failure its error", async () => {
  const { db, spans } = await traced();
  const one = await db.begin({ label: "one" });
  await one.get(pages.body, "a");
  await db.transact((tx) => tx.set(pages.body, "a", "theirs"));
  one.set(pages.body, "a", "mine");
  await expect(one.commit()).rejects.toThrow("conflicts");
  const [conflict] = spans("percolator.transaction").filter(({ status }) => status.message === "conflict");
  expect(conflict?.attributes).toMatchObject({
    "percolator.outcome": "conflict",
    "percolator.label": "one",
    "percolator.table": "pages",
    "percolator.row": "a",
  });
  await db.transact((tx) => tx.set(pages.body, "b", "bad"));
  const failed = new Promise<void>((resolve) => {
    db.on("run", ({ outcome }) => {
      if (outcome === "failed") resolve();
    });
  });
  await using _ = db.work();
  await failed;
  expect(spans("percolator.run titles").map(({ attributes }) => attributes["percolator.outcome"])).toContain(
    "rolled back",
  );
});

test.each([
  ["an object without a prototype", Object.create(null)],
  [
    "a function whose toString throws",
    Object.assign(() => undefined, {
      toString: () => {
        throw new Error("never");
      },
    }),
  ],
])("the spans of a transaction that throws %s, and of the next failure, end", async (_, thrown) => {
  const { db, spans } = await traced();
  for (const error of [thrown, new Error("the next one")]) {
    const failing = db.transact(() => {
      throw error;
    });
    await failing.catch(() => undefined);
  }
  const messages = spans("percolator.transaction").map(({ status }) => status.message);
  expect(messages).toEqual([expect.any(String), "the next one"]);
});

test("spans have the attributes of OpenTelemetry's conventions for databases", async () => {
  const { db, spans } = await traced();
  await db.transact((tx) => tx.set(pages.body, "a", "Hello"), { label: "load" });
  await db.drain();
  const failure = db.transact(() => {
    throw new RangeError("too far");
  });
  await expect(failure).rejects.toThrow("too far");
  const attributes = spans("percolator.transaction").map((span) => span.attributes);
  const common = { "db.system.name": "percolatordb", "db.namespace": "shop" };
  const operation = { ...common, "db.operation.name": "transaction" };
  expect(attributes.find((each) => each["percolator.label"] === "load")).toMatchObject({
    ...operation,
    "db.collection.name": "pages",
  });
  expect(attributes).toContainEqual(expect.objectContaining({ ...operation, "error.type": "RangeError" }));
  expect(spans("percolator.run titles")[0]?.attributes).toMatchObject({
    ...common,
    "db.operation.name": "run",
    "db.collection.name": "pages",
    "percolator.observer": "titles",
  });
});

test("nothing is traced after the trace was stopped", async () => {
  const { db, spans, stop } = await traced();
  stop();
  await db.transact((tx) => tx.set(pages.body, "a", "Hello"));
  expect(spans("percolator.transaction")).toEqual([]);
});

/** Opens one folder twice, as two processes would: one writes, the other runs the observer. */
async function acrossProcesses(areIdsInstalled: boolean) {
  const folder = await temporaryFolder();
  const exporter = new InMemorySpanExporter();
  const connect = async () => {
    const ids = commitIdGenerator(folder.path);
    const provider = new BasicTracerProvider({
      spanProcessors: [new SimpleSpanProcessor(exporter)],
      ...(areIdsInstalled ? { idGenerator: ids } : {}),
    });
    const connection = await open(folder.path, { observers: [titles], collectEveryMs: 0 });
    traceDatabase(connection, provider.getTracer("test"), { ids });
    return connection;
  };
  const [writer, worker] = [await connect(), await connect()];
  try {
    for (const row of ["a", "b"]) await writer.transact((tx) => tx.set(pages.body, row, "Hello"));
    await worker.drain();
  } finally {
    await worker.close();
    await writer.close();
    await folder.remove();
  }
  return (name: string) => exporter.getFinishedSpans().filter((span) => span.name === name);
}

test("a run links to the commit of another process, and the commit to its transaction", async () => {
  const spans = await acrossProcesses(true);
  const [commits, transactions] = [spans("percolator.commit"), spans("percolator.transaction")];
  expect(commits).toHaveLength(2);
  for (const run of spans("percolator.run titles")) {
    const timestamp = run.attributes["percolator.cause.commit_timestamp"];
    const of = (span: { attributes: Record<string, unknown> }) =>
      span.attributes["percolator.commit_timestamp"] === timestamp;
    const [commit, transaction] = [commits.find(of)!, transactions.find(of)!];
    expect(run.links.map(({ context }) => idsOf(context))).toEqual([idsOf(commit.spanContext())]);
    expect(commit.links.map(({ context }) => idsOf(context))).toEqual([idsOf(transaction.spanContext())]);
    expect(commit.parentSpanContext).toBeUndefined();
  }
  const drawn = [...transactions, ...spans("percolator.run titles")].map((span) => span.spanContext().spanId);
  expect(new Set(drawn).size).toBe(drawn.length);
});

test("without the id generator, no span links to a nonexistent span", async () => {
  const spans = await acrossProcesses(false);
  expect(spans("percolator.commit").length).toBeLessThanOrEqual(1);
  expect(spans("percolator.transaction").flatMap(({ links }) => links)).toEqual([]);
});

test("a database may be traced before the program has set up its provider", async () => {
  const exporter = new InMemorySpanExporter();
  const ids = commitIdGenerator("database");
  const proxy = new ProxyTracerProvider();
  db = await open("memory:", { observers: [titles], collectEveryMs: 0 });
  traceDatabase(db, proxy.getTracer("test"), { ids });
  await db.transact((tx) => tx.set(pages.body, "a", "Hello"));
  proxy.setDelegate(
    new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)], idGenerator: ids }),
  );
  await db.transact((tx) => tx.set(pages.body, "b", "Hello"));
  await db.drain();
  const named = (name: string) => exporter.getFinishedSpans().filter((span) => span.name === name);
  expect(named("percolator.commit")).toHaveLength(1);
  const linked = named("percolator.run titles").flatMap(({ links }) => links.map(({ context }) => context));
  expect(linked).toHaveLength(2);
  expect(linked.filter((context) => !isSpanContextValid(context))).toEqual([]);
});

test("a commit's ids are derived from database and timestamp; all other ids are random", () => {
  const [one, same, other] = ["a", "a", "b"].map((name) => commitIdGenerator(name));
  expect(one!.of(1)).toEqual(same!.of(1));
  expect(one!.of(1)).not.toEqual(one!.of(2));
  expect(one!.of(1)).not.toEqual(other!.of(1));
  expect(one!.of(1)).toEqual({
    traceId: expect.stringMatching(/^[0-9a-f]{32}$/),
    spanId: expect.stringMatching(/^[0-9a-f]{16}$/),
  });
  expect(one!.generateTraceId()).toMatch(/^[0-9a-f]{32}$/);
  expect(one!.generateSpanId()).not.toBe(one!.generateSpanId());
  const given = commitIdGenerator("a", { generateTraceId: () => "trace", generateSpanId: () => "span" });
  expect([given.generateTraceId(), given.generateSpanId()]).toEqual(["trace", "span"]);
});

function idsOf({ traceId, spanId }: { traceId: string; spanId: string }): readonly string[] {
  return [traceId, spanId];
}
