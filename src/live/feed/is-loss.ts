import { PercolatorError } from "../../errors/index.js";

/**
 * Whether an error of a feed's reader says that the feed was removed, or that entries are gone that
 * were not read. The reader must begin again.
 */
export function isLoss(error: unknown): boolean {
  return error instanceof PercolatorError && (error.code === "SCHEMA" || error.code === "STALE_SNAPSHOT");
}
