import type { Emitter } from "../events/index.js";
import type { Logger } from "./options.js";

/** Logs the events that an operator wants to know about: failures and parked changes. */
export function logEvents(events: Emitter, logger: Logger): void {
  events.on("backgroundFailure", ({ doing, error }) => {
    logger.warn(`Background work failed: ${doing}`, { error });
  });
  events.on("run", ({ observer, outcome, attempts, error }) => {
    if (outcome === "parked")
      logger.error(`A change was parked for the observer "${observer}"`, { attempts, error });
    else if (outcome === "failed" || outcome === "timeout") {
      logger.warn(`A run of the observer "${observer}" failed`, { outcome, attempts, error });
    }
  });
  events.on("collect", ({ safepoint, cellsSeen, versionsDropped, durationMs }) => {
    logger.info("Garbage was collected", { safepoint, cellsSeen, versionsDropped, durationMs });
  });
  events.on("expire", ({ table, cellsSeen, cellsExpired, durationMs }) => {
    logger.info("Expired cells were deleted", { table, cellsSeen, cellsExpired, durationMs });
  });
}
