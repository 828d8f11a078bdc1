import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
} from "@opentelemetry/sdk-trace-base";
import { afterEach, expect, test } from "vitest";
import { type Database, open } from "../database/index.js";
import { observer } from "../observer/index.js";
import { table, text } from "../schema/index.js";
import { traceDatabase } from "./index.js";

const pages = table("pages", { body: text(), title: text() });
const titles = observer("titles", pages.body, (tx, { row, value }) => {
  if (value === "bad") throw new Error("no title");
  tx.set(pages.title, row, value ?? "");
});

let db: Database | undefined;
afterEach(() => db?.close());

/** A database whose spans are kept, by OpenTelemetry's own provider. */
async function traced() {
  const exporter = new InMemorySpanExporter();
  const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
  db = await open("memory:", { observers: [titles], collectEveryMs: 0 });
  const stop = traceDatabase(db, provider.getTracer("test"));
  const spans = (name: string) => exporter.getFinishedSpans().filter((span) => span.name === name);
  return { db, spans, stop };
}

test("a run's span is linked to that of the transaction that made the change", async () => {
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

test("a conflict says who stood in the way, and a failure what failed", async () => {
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

test("nothing is traced any more after it was stopped", async () => {
  const { db, spans, stop } = await traced();
  stop();
  await db.transact((tx) => tx.set(pages.body, "a", "Hello"));
  expect(spans("percolator.transaction")).toEqual([]);
});
