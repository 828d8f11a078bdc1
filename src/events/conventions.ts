import { PercolatorError } from "../errors/index.js";
import type { EventMap } from "./events.js";

/**
 * OpenTelemetry's semantic conventions for clients of databases, as far as events of transactions
 * can follow them. Spans and the histogram of durations have the same attributes.
 */

/** The value of `db.system.name`. */
const systemName = "percolatordb";

/** The end of a transaction, as one of three events says it. */
export type Ended = Pick<
  EventMap["commit"] | EventMap["conflict"] | EventMap["rollback"],
  "cause" | "label" | "onlyTable" | "startTimestamp" | "durationMs"
>;

/**
 * The attributes of a transaction that ended. `namespace` names the database. `errorType` is the
 * result of {@link errorTypeOf}.
 */
export function conventionalAttributes(
  { cause, onlyTable }: Ended,
  namespace: string | undefined,
  errorType: string | undefined,
): Record<string, string> {
  const table = cause === undefined ? onlyTable : cause.cell.table;
  return {
    "db.system.name": systemName,
    "db.operation.name": cause === undefined ? "transaction" : "run",
    ...(namespace === undefined ? {} : { "db.namespace": namespace }),
    ...(table === undefined ? {} : { "db.collection.name": table }),
    ...(cause === undefined ? {} : { "percolator.observer": cause.observer }),
    ...(errorType === undefined ? {} : { "error.type": errorType }),
  };
}

/** `error.type` of a transaction that ended by a conflict. */
export const conflictType = "CONFLICT";

/**
 * `error.type` of a rollback: the code of this package's error, or the class of another one.
 * Undefined if the transaction's owner rolled it back, which is no failure.
 */
export function errorTypeOf(error: unknown): string | undefined {
  if (error === undefined) return undefined;
  if (error instanceof PercolatorError) return error.code;
  return error instanceof Error ? error.name : "_OTHER";
}
