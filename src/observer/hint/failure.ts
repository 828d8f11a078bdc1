import { type ErrorCode, messageOf, ObserverError, PercolatorError } from "../../errors/index.js";

/**
 * Why an attempt failed.
 *
 * - `failed`, `timeout`: the observer's function threw or took too long. Counts as an attempt.
 * - `conflict`: another transaction won. Only a long series of conflicts counts as an attempt.
 * - `setback`: the store or the coordinator failed, a bulk load keeps the run from writing, or only a
 *   newer program can read a value.
 * - `endless`: the observer keeps making itself due. The change is parked at once.
 * - `stopped`: the worker gave up the run to stop.
 */
export type FailureKind = "failed" | "timeout" | "conflict" | "setback" | "endless" | "stopped";

/** An error that the observer's own function threw, as opposed to failures around it. */
export class RunError extends Error {
  readonly error: unknown;
  readonly gaveUp: Error | undefined;

  constructor(error: unknown, gaveUp: Error | undefined) {
    super("An observer's run failed", { cause: error });
    this.error = error;
    this.gaveUp = gaveUp;
  }
}

/** The observer keeps making itself due on a cell by its own writes. */
export class EndlessObserverError extends ObserverError {}

/** The worker gave up a run in order to stop. The run itself did not fail. */
export class StoppedError extends ObserverError {}

/**
 * Errors that are not the observer's fault, even if its function throws them. `STORE_DAMAGED` is
 * not among them, because the damage may be in a single cell. The worker then parks that cell's
 * change and continues with other cells.
 */
const serviceCodes: ReadonlySet<unknown> = new Set<ErrorCode>([
  "STORE",
  "STORE_FULL",
  "STORE_BUSY",
  "STORE_MOVED",
  "STORE_CHANGED",
  "ORACLE_UNAVAILABLE",
  "NOT_LEADER",
  "COORDINATOR",
  // A newer program wrote the value. It will handle the change, or this process will be replaced.
  "NEWER_VALUE",
]);
const setbackCodes: ReadonlySet<unknown> = new Set<unknown>([
  ...serviceCodes,
  "COMMIT_OUTCOME_UNKNOWN",
  "LOAD",
  "CLOSED",
  "ABORTED",
]);

/** The code of an error for which the observer is not to blame, so that its run counts as no attempt. */
export function serviceFailure(error: unknown): ErrorCode | undefined {
  return error instanceof PercolatorError && serviceCodes.has(error.code) ? error.code : undefined;
}

/** The kind of a failure, and the error to show. */
export function classify(thrown: unknown): { readonly kind: FailureKind; readonly error: unknown } {
  if (thrown instanceof RunError) return classifyRun(thrown);
  const kind = (): FailureKind => {
    if (thrown instanceof EndlessObserverError) return "endless";
    if (thrown instanceof StoppedError) return "stopped";
    if (!(thrown instanceof PercolatorError)) return "failed";
    if (setbackCodes.has(thrown.code)) return "setback";
    return thrown.retryable ? "conflict" : "failed";
  };
  return { kind: kind(), error: thrown };
}

function classifyRun({ error, gaveUp }: RunError): { readonly kind: FailureKind; readonly error: unknown } {
  if (gaveUp !== undefined) {
    return { kind: gaveUp instanceof StoppedError ? "stopped" : "timeout", error: gaveUp };
  }
  if (!(error instanceof PercolatorError)) return { kind: "failed", error };
  if (serviceFailure(error) !== undefined) return { kind: "setback", error };
  return { kind: error.retryable ? "conflict" : "failed", error };
}

/** A failure as the store keeps it: bounded in size. It describes any thrown value. */
export interface FailureText {
  readonly name: string;
  readonly code?: string | undefined;
  readonly message: string;
  readonly stack?: string | undefined;
}

const maxMessage = 2_000;
const maxStack = 8_000;

export function describeFailure(error: unknown): FailureText {
  try {
    if (error instanceof Error) {
      const { name, stack } = error;
      const code = (error as { code?: unknown }).code;
      return {
        name: clip(String(name), 200),
        ...(typeof code === "string" ? { code: clip(code, 200) } : {}),
        message: clip(messageOf(error), maxMessage),
        ...(typeof stack === "string" ? { stack: clip(stack, maxStack) } : {}),
      };
    }
    return { name: typeof error, message: clip(messageOf(error), maxMessage) };
  } catch {
    return { name: typeof error, message: "The thrown value cannot be shown." };
  }
}

/** A failure in one line, for a hint. */
export function shortFailure(error: unknown): string {
  const { name, message } = describeFailure(error);
  return clip(`${name}: ${message}`, 500);
}

function clip(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most)}…`;
}
