import { PercolatorError } from "../../errors/index.js";
import type { Failure } from "../api/index.js";

/**
 * Thrown to refuse a request, or if the thing that the request names does not exist. `status` is
 * the HTTP status.
 */
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
 * Returns the HTTP status and the message of an error. If the error does not come from this
 * package, its message is replaced, so that the client does not see it.
 */
export function failureOf(error: unknown): { readonly status: number; readonly failure: Failure } {
  if (error instanceof RequestError) {
    return { status: error.status, failure: { code: error.code, message: error.message } };
  }
  if (error instanceof PercolatorError) {
    return { status: statuses[error.code] ?? 500, failure: { code: error.code, message: error.message } };
  }
  const message = "The dashboard failed because of a defect. See the log of the process that serves it.";
  return { status: 500, failure: { code: "INTERNAL", message } };
}
