import {
  type Attributes,
  createNoopMeter,
  type Histogram,
  type MetricOptions,
  type Meter as OpenTelemetryMeter,
  type Tracer as OpenTelemetryTracer,
} from "@opentelemetry/api";
import {
  ATTR_DB_COLLECTION_NAME,
  ATTR_DB_NAMESPACE,
  ATTR_DB_OPERATION_NAME,
  ATTR_DB_SYSTEM_NAME,
  ATTR_ERROR_TYPE,
  METRIC_DB_CLIENT_OPERATION_DURATION,
} from "@opentelemetry/semantic-conventions";
import { afterEach, expect, expectTypeOf, test } from "vitest";
import { type Database, open } from "../database/index.js";
import { observer } from "../observer/index.js";
import { table, text } from "../schema/index.js";
import { type Meter, measureDatabase, type Tracer } from "./index.js";

const pages = table("pages", { body: text(), title: text() });
const counts = table("counts", { pages: text() });
const titles = observer("titles", pages.body, (tx, { row, value }) => tx.set(pages.title, row, value ?? ""));

let db: Database | undefined;
afterEach(() => db?.close());

interface Recorded {
  readonly value: number;
  readonly attributes: Attributes | undefined;
}

/** A meter of OpenTelemetry's own type that keeps what it is given. */
class KeepingMeter implements Pick<OpenTelemetryMeter, "createHistogram"> {
  readonly created: (readonly [name: string, options: MetricOptions | undefined])[] = [];
  readonly recorded: Recorded[] = [];

  createHistogram(name: string, options?: MetricOptions): Histogram {
    this.created.push([name, options]);
    return { record: (value, attributes) => this.recorded.push({ value, attributes }) };
  }
}

async function measured() {
  const meter = new KeepingMeter();
  db = await open("memory:", { tables: [counts], observers: [titles], collectEveryMs: 0 });
  const stop = measureDatabase(db, meter, { namespace: "shop" });
  meter.recorded.length = 0;
  const attributes = () => meter.recorded.map((each) => each.attributes);
  return { db, meter, attributes, stop };
}

const common = { [ATTR_DB_SYSTEM_NAME]: "percolatordb", [ATTR_DB_NAMESPACE]: "shop" };
const ofTransaction = { ...common, [ATTR_DB_OPERATION_NAME]: "transaction" };
const ofPages = { ...ofTransaction, [ATTR_DB_COLLECTION_NAME]: "pages" };

test("OpenTelemetry's tracer and meter are what the package takes", () => {
  expectTypeOf<OpenTelemetryTracer>().toExtend<Tracer>();
  expectTypeOf<OpenTelemetryMeter>().toExtend<Meter>();
});

test("the histogram has the name, unit and buckets of the conventions", async () => {
  const { meter } = await measured();
  expect(meter.created).toEqual([
    [
      METRIC_DB_CLIENT_OPERATION_DURATION,
      {
        description: expect.any(String),
        unit: "s",
        advice: { explicitBucketBoundaries: [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10] },
      },
    ],
  ]);
});

test("a transaction is recorded with its only table, and a run with the table that it observes", async () => {
  const { db, meter, attributes } = await measured();
  await db.transact((tx) => tx.set(pages.body, "a", "Hello"));
  await db.transact((tx) => {
    tx.set(pages.body, "b", "Hello");
    tx.set(counts.pages, "all", "2");
  });
  expect(attributes()).toEqual([ofPages, ofTransaction]);
  meter.recorded.length = 0;
  await db.drain();
  const ofRun = { ...ofPages, [ATTR_DB_OPERATION_NAME]: "run", "percolator.observer": "titles" };
  expect(attributes()).toContainEqual(ofRun);
});

test("the recorded seconds are those of the event", async () => {
  const { db, meter } = await measured();
  const durations: number[] = [];
  db.on("commit", ({ durationMs }) => durations.push(durationMs / 1_000));
  await db.transact((tx) => tx.set(pages.body, "a", "Hello"));
  expect(meter.recorded.map(({ value }) => value)).toEqual(durations);
  expect(durations).toHaveLength(1);
});

test("a transaction that failed is recorded with the type of its error", async () => {
  const { db, attributes } = await measured();
  const one = await db.begin();
  await one.get(pages.body, "a");
  await db.transact((tx) => tx.set(pages.body, "a", "theirs"));
  one.set(pages.body, "a", "mine");
  await expect(one.commit()).rejects.toThrow("conflicts");
  const fail = (error: unknown) => () => {
    throw error;
  };
  await expect(db.transact(fail(new RangeError("too far")))).rejects.toThrow("too far");
  await expect(db.transact(fail("a string"))).rejects.toBe("a string");
  await expect(db.transact((tx) => tx.set(pages.body, "a", 7 as never))).rejects.toThrow("pages");
  expect(attributes()).toEqual([
    ofPages,
    { ...ofPages, [ATTR_ERROR_TYPE]: "CONFLICT" },
    { ...ofTransaction, [ATTR_ERROR_TYPE]: "RangeError" },
    { ...ofTransaction, [ATTR_ERROR_TYPE]: "_OTHER" },
    { ...ofTransaction, [ATTR_ERROR_TYPE]: "INVALID_VALUE" },
  ]);
});

test("a rollback by the owner is no error, and keeps the table of its writes", async () => {
  const { db, attributes } = await measured();
  const one = await db.begin();
  one.set(pages.body, "a", "mine");
  await one.rollback();
  expect(attributes()).toEqual([ofPages]);
});

test("nothing is recorded after the measuring was stopped, and the name is optional", async () => {
  const { db, meter, stop } = await measured();
  stop();
  await db.transact((tx) => tx.set(pages.body, "a", "Hello"));
  expect(meter.recorded).toEqual([]);
  measureDatabase(db, createNoopMeter());
  const plain = new KeepingMeter();
  measureDatabase(db, plain);
  await db.transact((tx) => tx.set(pages.body, "b", "Hello"));
  expect(plain.recorded[0]?.attributes).not.toHaveProperty([ATTR_DB_NAMESPACE]);
});
