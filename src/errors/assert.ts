import { InternalError } from "./errors.js";

/**
 * Throws an {@link InternalError} unless `condition` holds. Use it for assumptions inside this
 * package, never to check input.
 */
export function assert(condition: unknown, message: string): asserts condition {
  if (!condition)
    throw new InternalError(
      `Broken assumption: ${message}. This is a defect of percolatordb; please report it.`,
    );
}
