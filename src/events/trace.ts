import { systemEnvironment } from "../environment/index.js";
import { checkArgument, messageOf } from "../errors/index.js";
import type { CommitIdGenerator } from "./commit-ids.js";
import { CommitSpans } from "./commit-spans.js";
import { conflictType, conventionalAttributes, type Ended, errorTypeOf } from "./conventions.js";
import type { Cause, EventListener, EventMap, EventName } from "./events.js";
import { isOfSpan, type SpanContext, type Tracer } from "./tracer.js";

/** A source of events: a `Database`. */
export interface EventSource {
  on<N extends EventName>(name: N, listener: EventListener<N>): () => void;
}

/** The options of {@link traceDatabase}. All are optional. */
export interface TraceOptions {
  /** The clock for the end of spans, in milliseconds since 1970. Default: the system's clock. */
  readonly now?: (() => number) | undefined;
  /**
   * The id generator of the tracer's provider. Give it to link runs to commits of other processes.
   * Default: no such links.
   */
  readonly ids?: CommitIdGenerator | undefined;
  /**
   * The name of the database, for the attribute `db.namespace`. It may not contain secrets, such as
   * the password of a location. Default: the attribute is left out.
   */
  readonly namespace?: string | undefined;
}

const internal = 0;
const failed = 2;
/**
 * Number of commits that this process remembers, so that it can link runs to the commits that
 * caused them.
 */
const maxCauses = 10_000;

/**
 * Makes a span for each transaction that ends, with OpenTelemetry's tracer. A transaction that only
 * read and committed has none. Call the returned function to stop. A transaction's span is the child
 * of the span that is active where the program awaits the commit.
 *
 * The run of an observer is a transaction as well. Its span is named `percolator.run NAME`, and
 * links to the span of the transaction that made the change, if both ran in this process.
 *
 * Each span also has the attributes of OpenTelemetry's semantic conventions for databases, as
 * {@link measureDatabase} has them.
 *
 * With `ids`, runs also link to commits of other processes. Every commit that makes observers due
 * then has a span `percolator.commit`, which links to the span of its transaction. Without `ids`,
 * the attributes `percolator.commit_timestamp` and `percolator.cause.commit_timestamp` say which
 * spans belong together.
 *
 * @example
 * const stop = traceDatabase(db, trace.getTracer("my-app"));
 */
export function traceDatabase(db: EventSource, tracer: Tracer, options: TraceOptions = {}): () => void {
  checkArgument("traceDatabase", "a database", db, typeof db?.on === "function");
  checkArgument("traceDatabase", "an OpenTelemetry tracer", tracer, typeof tracer?.startSpan === "function");
  checkArgument(
    "traceDatabase",
    "an object of options",
    options,
    typeof options === "object" && options !== null,
  );
  const now = options.now ?? (() => systemEnvironment.now());
  const causes = new Map<number, SpanContext>();
  const commits = options.ids === undefined ? undefined : new CommitSpans(tracer, options.ids);
  const remember = (commitTimestamp: number, context: SpanContext) => {
    if (!isOfSpan(context)) return;
    causes.set(commitTimestamp, context);
    if (causes.size > maxCauses) causes.delete(causes.keys().next().value!);
  };
  const span = (event: Ended, errorType: string | undefined, attributes: Record<string, string | number>) => {
    const { cause, label, startTimestamp, durationMs } = event;
    const endTime = now();
    const context = cause && (causes.get(cause.commitTimestamp) ?? commits?.contextOf(cause.commitTimestamp));
    const started = tracer.startSpan(
      cause === undefined ? "percolator.transaction" : `percolator.run ${cause.observer}`,
      {
        kind: internal,
        startTime: endTime - durationMs,
        attributes: {
          ...conventionalAttributes(event, options.namespace, errorType),
          "percolator.start_timestamp": startTimestamp,
          ...(label === undefined ? {} : { "percolator.label": label }),
          ...(cause === undefined ? {} : causeAttributes(cause)),
          ...attributes,
        },
        links: context === undefined ? [] : [{ context }],
      },
    );
    return { started, endTime };
  };
  const stops = [
    db.on("commit", (event) => {
      const { commitTimestamp, cells, phases, commitMs } = event;
      const { started, endTime } = span(event, undefined, {
        "percolator.outcome": "committed",
        "percolator.commit_timestamp": commitTimestamp,
        "percolator.cells": cells,
        "percolator.phases": phases,
        "percolator.commit_ms": commitMs,
      });
      remember(commitTimestamp, started.spanContext());
      started.end(endTime);
    }),
    db.on("conflict", (event) => {
      const { table, row, column, winnerTimestamp } = event;
      const { started, endTime } = span(event, conflictType, {
        "percolator.outcome": "conflict",
        ...(table === undefined ? {} : { "percolator.table": table }),
        ...(row === undefined ? {} : { "percolator.row": row }),
        ...(column === undefined ? {} : { "percolator.column": column }),
        ...(winnerTimestamp === undefined ? {} : { "percolator.winner_timestamp": winnerTimestamp }),
      });
      started.setStatus({ code: failed, message: "conflict" });
      started.end(endTime);
    }),
    db.on("rollback", (event) => {
      const { error } = event;
      const { started, endTime } = span(event, errorTypeOf(error), { "percolator.outcome": "rolled back" });
      if (error !== undefined) {
        const exception = exceptionOf(error);
        started.recordException(exception);
        started.setStatus({ code: failed, message: exception.message });
      }
      started.end(endTime);
    }),
  ];
  if (commits !== undefined) {
    const make = ({ commitTimestamp }: EventMap["hints"]) =>
      commits.make(commitTimestamp, now(), causes.get(commitTimestamp));
    stops.push(db.on("hints", make));
  }
  return () => {
    for (const stop of stops) stop();
  };
}

/** A thrown value as an error. It may be one that cannot be shown. */
function exceptionOf(thrown: unknown): Error {
  if (thrown instanceof Error) return thrown;
  try {
    return new Error(messageOf(thrown));
  } catch {
    return new Error("The thrown value cannot be shown.");
  }
}

function causeAttributes({ cell, commitTimestamp }: Cause): Record<string, string | number> {
  return {
    "percolator.cause.table": cell.table,
    "percolator.cause.row": Buffer.from(cell.row).toString("utf8"),
    "percolator.cause.commit_timestamp": commitTimestamp,
  };
}
