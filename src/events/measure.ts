import { checkArgument } from "../errors/index.js";
import { conflictType, conventionalAttributes, type Ended, errorTypeOf } from "./conventions.js";
import type { Meter } from "./meter.js";
import type { EventSource } from "./trace.js";

/** The options of {@link measureDatabase}. All are optional. */
export interface MeasureOptions {
  /**
   * The name of the database, for the attribute `db.namespace`. It may not contain secrets, such as
   * the password of a location. Default: the attribute is left out.
   */
  readonly namespace?: string | undefined;
}

/** Upper bounds of the buckets, in seconds, as the conventions demand them. */
const bounds = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10];

/**
 * Records the duration of each transaction of this process in OpenTelemetry's histogram
 * `db.client.operation.duration`, in seconds. A run of an observer is a transaction as well. A
 * transaction that only read and committed is not recorded. Call the returned function to stop.
 *
 * The attributes are those of OpenTelemetry's semantic conventions: `db.system.name`,
 * `db.namespace`, `db.operation.name` (`transaction` or `run`), `db.collection.name` and
 * `error.type`. A run also has `percolator.observer`.
 *
 * @example
 * const stop = measureDatabase(db, metrics.getMeter("my-app"), { namespace: "shop" });
 */
export function measureDatabase(db: EventSource, meter: Meter, options: MeasureOptions = {}): () => void {
  checkArgument("measureDatabase", "a database", db, typeof db?.on === "function");
  checkArgument(
    "measureDatabase",
    "an OpenTelemetry meter",
    meter,
    typeof meter?.createHistogram === "function",
  );
  checkArgument(
    "measureDatabase",
    "an object of options",
    options,
    typeof options === "object" && options !== null,
  );
  const duration = meter.createHistogram("db.client.operation.duration", {
    description: "Duration of database client operations.",
    unit: "s",
    advice: { explicitBucketBoundaries: bounds },
  });
  const record = (event: Ended, errorType?: string) =>
    duration.record(event.durationMs / 1_000, conventionalAttributes(event, options.namespace, errorType));
  const stops = [
    db.on("commit", (event) => record(event)),
    db.on("conflict", (event) => record(event, conflictType)),
    db.on("rollback", (event) => record(event, errorTypeOf(event.error))),
  ];
  return () => {
    for (const stop of stops) stop();
  };
}
