import { type ErrorCode, PercolatorError } from "../errors/index.js";

/** A command that cannot be meant; the command line exits with 2. */
export class UsageError extends PercolatorError {
  readonly code: ErrorCode;

  constructor(message: string, code: ErrorCode = "INVALID_ARGUMENT", cause?: unknown) {
    super(message, { cause });
    this.code = code;
  }
}

/** Runs what only looks at what the user typed: an error of the package is then the user's. */
export function asUsage<T>(look: () => T): T {
  try {
    return look();
  } catch (error) {
    if (error instanceof PercolatorError && !(error instanceof UsageError)) {
      throw new UsageError(error.message, error.code, error);
    }
    throw error;
  }
}
