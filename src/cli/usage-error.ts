import { type ErrorCode, PercolatorError } from "../errors/index.js";

/** An error in the command line that the user typed. The exit code is 2. */
export class UsageError extends PercolatorError {
  readonly code: ErrorCode;

  constructor(message: string, code: ErrorCode = "INVALID_ARGUMENT", cause?: unknown) {
    super(message, { cause });
    this.code = code;
  }
}

/**
 * Runs a check of what the user typed, and turns any error of the package into a
 * {@link UsageError}.
 */
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
