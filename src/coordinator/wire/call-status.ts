import type { StatusObject } from "@grpc/grpc-js";
import {
  CoordinatorError,
  type CoordinatorFault,
  type ErrorCode,
  LimitExceededError,
  NotLeaderError,
  OracleUnavailableError,
  PercolatorError,
} from "../../errors/index.js";
import { Metadata, status } from "../packages.js";

/** Metadata keys of a refusal. */
const keys = Object.freeze({
  code: "percolator-error",
  leader: "percolator-leader",
  reason: "percolator-reason",
});

/** A status that ends a call. */
export interface Refusal {
  readonly code: status;
  readonly details: string;
  readonly metadata: Metadata;
}

const statuses: Partial<Record<ErrorCode, status>> = {
  NOT_LEADER: status.FAILED_PRECONDITION,
  ORACLE_UNAVAILABLE: status.UNAVAILABLE,
  LIMIT_EXCEEDED: status.RESOURCE_EXHAUSTED,
  INVALID_ARGUMENT: status.INVALID_ARGUMENT,
  COORDINATOR: status.FAILED_PRECONDITION,
};

/** On the server: turns an error into the status of a call. */
export function refusalOf(error: unknown): Refusal {
  const metadata = new Metadata();
  if (!(error instanceof PercolatorError)) {
    return {
      code: status.INTERNAL,
      details: "The coordinator failed because of a defect. See its log.",
      metadata,
    };
  }
  metadata.set(keys.code, error.code);
  if (error instanceof NotLeaderError && error.leader !== undefined) {
    metadata.set(keys.leader, encodeURIComponent(error.leader));
  }
  let code = statuses[error.code] ?? status.INTERNAL;
  if (error instanceof CoordinatorError) {
    metadata.set(keys.reason, error.reason);
    if (error.reason === "token") code = status.UNAUTHENTICATED;
    if (error.reason === "message") code = status.INVALID_ARGUMENT;
  }
  return { code, details: error.message, metadata };
}

/**
 * On the client: turns the status of a call into an error. Only errors of connections and of
 * leadership are `retryable`.
 */
export function errorOf(failure: unknown, address: string): PercolatorError {
  if (failure instanceof PercolatorError) return failure;
  const { code, details, metadata } = failure as Partial<StatusObject>;
  const named = textIn(metadata, keys.code);
  const message = `The coordinator at ${address}: ${details ?? String(failure)}`;
  if (named === "NOT_LEADER") return new NotLeaderError(message, { leader: leaderIn(metadata) });
  if (named === "LIMIT_EXCEEDED") return new LimitExceededError(message);
  if (named === "COORDINATOR") return new CoordinatorError(message, { reason: faultIn(metadata) });
  if (named === "INVALID_ARGUMENT") return new CoordinatorError(message, { reason: "message" });
  if (code === status.UNAUTHENTICATED) return new CoordinatorError(message, { reason: "token" });
  if (code === status.UNIMPLEMENTED) {
    return new CoordinatorError(
      `The server at ${address} is not a coordinator, or has another version (${details ?? ""}). Check the address, and run the ` +
        "same version of percolatordb everywhere.",
      { reason: "version" },
    );
  }
  return new OracleUnavailableError(
    `The coordinator at ${address} does not answer (${details ?? String(failure)}). Check whether it runs, and whether this machine can ` +
      "reach it.",
    { cause: failure },
  );
}

function textIn(metadata: Metadata | undefined, key: string): string | undefined {
  const value = metadata?.get(key)[0];
  return typeof value === "string" ? value : undefined;
}

function leaderIn(metadata: Metadata | undefined): string | undefined {
  const text = textIn(metadata, keys.leader);
  if (text === undefined || text.length > 3_000) return undefined;
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

const faults: readonly CoordinatorFault[] = ["token", "tls", "version", "cluster", "message", "use"];

function faultIn(metadata: Metadata | undefined): CoordinatorFault {
  const text = textIn(metadata, keys.reason);
  return faults.find((fault) => fault === text) ?? "use";
}
