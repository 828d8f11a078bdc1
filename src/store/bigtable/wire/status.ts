import { StoreError } from "../../../errors/index.js";
import { type ServiceError, status } from "../packages.js";
import { retryDelayMs } from "./retry-info.js";

/**
 * Statuses after which a mutation was certainly not applied. After any other status, the mutation
 * may have been applied.
 */
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
 * Whether a retry may succeed after this error, for a request that is harmless to repeat. True if
 * the error's status is that of an outage, or if the service names a delay before the next attempt.
 */
export function mayPass(error: unknown): boolean {
  const code = codeOf(error);
  return code !== undefined && (repeatable.has(code) || retryDelayMs(error) !== undefined);
}

const advice: Readonly<Record<number, string>> = {
  [status.UNAUTHENTICATED]:
    "The service refused the credentials: set GOOGLE_APPLICATION_CREDENTIALS, or run where a service account is attached",
  [status.PERMISSION_DENIED]:
    "The account may not do that: grant it roles/bigtable.user on the instance (and roles/bigtable.admin to create tables)",
  [status.NOT_FOUND]:
    "The table, instance or app profile does not exist: check the location, and run `percolator init`",
  [status.UNAVAILABLE]: "The service cannot be reached: check the network, and try again",
  [status.DEADLINE_EXCEEDED]:
    "The service did not answer in time: check the load of the cluster, or raise `deadlineMs`",
  [status.RESOURCE_EXHAUSTED]: "A quota or limit was reached: raise it, or send fewer or smaller requests",
};

/** The error for a call that failed. */
export function storeError(error: unknown, doing: string): Error {
  const code = codeOf(error);
  if (code === undefined)
    return error instanceof Error ? error : new StoreError(`Could not ${doing}.`, { cause: error });
  return statusError(code, (error as ServiceError).details, doing, error);
}

/** The error for a status within an answer. The call itself did not fail. */
export function statusError(code: number, details: string, doing: string, cause?: unknown): StoreError {
  const hint = advice[code];
  const said = details === "" ? "" : `: ${details.slice(0, 500)}`;
  return new StoreError(
    `Bigtable could not ${doing} (${status[code] ?? code}${said}).${hint === undefined ? "" : ` ${hint}.`}`,
    { cause, retryable: repeatable.has(code) || mayPass(cause) },
  );
}
