import { PercolatorError } from "../../errors/index.js";
import type { Failure } from "../api.js";

/** A refused request, or one for something that does not exist, with its status. */
export class RequestError extends Error {
  readonly status: number;
  readonly code: string;
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: number, code: string, message: string, headers: Readonly<Record<string, string>> = {}) {
    super(message);
    this.name = "RequestError";
    this.status = status;
    this.code = code;
    this.headers = headers;
  }
}

const statuses: Readonly<Record<string, number>> = {
  INVALID_ARGUMENT: 400,
  INVALID_KEY: 400,
  INVALID_VALUE: 400,
  SCHEMA: 404,
  OBSERVER: 404,
  STALE_SNAPSHOT: 410,
  LIMIT_EXCEEDED: 413,
  CONFLICT: 409,
  TIMEOUT: 504,
  ABORTED: 503,
  CLOSED: 503,
  STORE: 503,
  STORE_FULL: 507,
  ORACLE_UNAVAILABLE: 503,
  COORDINATOR: 502,
};

/**
 * The status and the message of an error. Messages of errors from outside this package stay inside.
 */
export function failureOf(error: unknown): { readonly status: number; readonly failure: Failure } {
  if (error instanceof RequestError) {
    return { status: error.status, failure: { code: error.code, message: error.message } };
  }
  if (error instanceof PercolatorError) {
    return { status: statuses[error.code] ?? 500, failure: { code: error.code, message: error.message } };
  }
  const message = "The dashboard failed inside; the log of the process that serves it may say more.";
  return { status: 500, failure: { code: "INTERNAL", message } };
}
