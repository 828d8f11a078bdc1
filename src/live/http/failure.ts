import { type ErrorCode, PercolatorError } from "../../errors/index.js";

/**
 * The codes that a client may get: those of this package's errors, and `QUERY` for an error of the
 * program's own, `FORBIDDEN`, `METHOD` and `TOO_MANY`.
 */
export type LiveErrorCode = ErrorCode | "QUERY" | "FORBIDDEN" | "METHOD" | "TOO_MANY";

/** What a {@link Refusal} has besides its message. */
interface RefusalDetails {
  readonly headers?: Readonly<Record<string, string>>;
  /** The error for the program's log. Undefined if the client is the reason. */
  readonly cause?: unknown;
}

/** Refuses a request. */
export class Refusal extends Error {
  readonly status: number;
  readonly code: LiveErrorCode;
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: number, code: LiveErrorCode, message: string, details: RefusalDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.name = "Refusal";
    this.status = status;
    this.code = code;
    this.headers = details.headers ?? {};
  }
}

/** A further attempt of the same client fails in the same way. */
const finalCodes: ReadonlySet<LiveErrorCode> = new Set([
  "INVALID_VALUE",
  "INVALID_KEY",
  "INVALID_ARGUMENT",
  "LIMIT_EXCEEDED",
  "SCHEMA",
  "STALE_SNAPSHOT",
]);

/** The code of an error, as clients get it. They never get its message. */
export function codeOf(error: unknown): LiveErrorCode {
  return error instanceof PercolatorError ? error.code : "QUERY";
}

/** The data of an `error` event. */
export function errorData(error: unknown): string {
  const code = codeOf(error);
  return JSON.stringify({ code, isFinal: finalCodes.has(code) });
}

/** The errors that a client causes by the id that it sends. */
const ofId: Partial<Record<LiveErrorCode, { readonly status: number; readonly message: string }>> = {
  INVALID_ARGUMENT: {
    status: 400,
    message: "The id in Last-Event-ID is later than the newest commit. Connect again without it.",
  },
  STALE_SNAPSHOT: {
    status: 410,
    message:
      "The feed no longer has all changes after Last-Event-ID. Load the current state, and connect again without Last-Event-ID.",
  },
};

/** A refusal for an error before the first event. `hasId`: whether the client has sent an id. */
export function refusalOf(error: unknown, hasId: boolean): Refusal {
  if (error instanceof Refusal) return error;
  const code = codeOf(error);
  const known = hasId ? ofId[code] : undefined;
  if (known !== undefined) return new Refusal(known.status, code, known.message);
  if (code === "SCHEMA") return new Refusal(404, code, "The database has no such feed.", { cause: error });
  return new Refusal(503, code, "The server cannot read the database now. Try again.", {
    headers: { "retry-after": "2" },
    cause: code === "CLOSED" ? undefined : error,
  });
}

/** The response that tells a refusal. */
export function refused({ status, code, message, headers }: Refusal, more: Record<string, string>): Response {
  return new Response(`${JSON.stringify({ code, message })}\n`, {
    status,
    headers: {
      ...more,
      ...headers,
      "cache-control": "no-store",
      "content-type": "application/json; charset=utf-8",
    },
  });
}
