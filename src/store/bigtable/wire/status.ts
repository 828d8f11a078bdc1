import { StoreError } from "../../../errors/index.js";
import { type ServiceError, status } from "../packages.js";
import { retryDelayMs } from "./retry-info.js";

/** Statuses after which a mutation was certainly not applied. All others leave that open. */
const refusals: ReadonlySet<number> = new Set([
  status.INVALID_ARGUMENT,
  status.NOT_FOUND,
  status.ALREADY_EXISTS,
  status.PERMISSION_DENIED,
  status.UNAUTHENTICATED,
  status.FAILED_PRECONDITION,
  status.OUT_OF_RANGE,
  status.UNIMPLEMENTED,
]);

/** Statuses of an outage. They say nothing about the request, so a retry may succeed. */
const repeatable: ReadonlySet<number> = new Set([
  // Cancelled by the other side, which ended the streams of the connection.
  status.CANCELLED,
  status.UNAVAILABLE,
  status.DEADLINE_EXCEEDED,
  status.ABORTED,
  status.INTERNAL,
  status.UNKNOWN,
  status.RESOURCE_EXHAUSTED,
]);

/** The code of a failed call; undefined for other errors. */
export function codeOf(error: unknown): status | undefined {
  return error instanceof Error && "code" in error && "metadata" in error
    ? (error as ServiceError).code
    : undefined;
}

export function isRefusal(code: number): boolean {
  return refusals.has(code);
}

/**
 * Whether a request that is harmless to repeat can be retried after this error: by its status, or
 * because the service says so.
 */
export function mayPass(error: unknown): boolean {
  const code = codeOf(error);
  return code !== undefined && (repeatable.has(code) || retryDelayMs(error) !== undefined);
}

const advice: Readonly<Record<number, string>> = {
  [status.UNAUTHENTICATED]:
    "The credentials were refused: set GOOGLE_APPLICATION_CREDENTIALS, or run where a service account is attached",
  [status.PERMISSION_DENIED]:
    "The account may not do that: grant it roles/bigtable.user on the instance (and roles/bigtable.admin to make tables)",
  [status.NOT_FOUND]:
    "The table, instance or app profile is not there: look at the location, and run `percolator init`",
  [status.UNAVAILABLE]: "The service cannot be reached: look at the network, and try again",
  [status.DEADLINE_EXCEEDED]:
    "No answer came in time: look at the load of the cluster, or give `deadlineMs` more",
  [status.RESOURCE_EXHAUSTED]: "A quota or limit was reached: raise it, or ask for less at once",
};

/** The error for a call that failed. */
export function storeError(error: unknown, doing: string): Error {
  const code = codeOf(error);
  if (code === undefined)
    return error instanceof Error ? error : new StoreError(`Could not ${doing}.`, { cause: error });
  return statusError(code, (error as ServiceError).details, doing, error);
}

/** The error for a status in an answer, without a failed call. */
export function statusError(code: number, details: string, doing: string, cause?: unknown): StoreError {
  const hint = advice[code];
  const said = details === "" ? "" : `: ${details.slice(0, 500)}`;
  return new StoreError(
    `Bigtable could not ${doing} (${status[code] ?? code}${said}).${hint === undefined ? "" : ` ${hint}.`}`,
    { cause, retryable: repeatable.has(code) || mayPass(cause) },
  );
}
