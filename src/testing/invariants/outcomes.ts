import { CommitOutcomeUnknownError } from "../../errors/index.js";
import type { Emitter } from "../../events/index.js";
import type { ProtocolWatcher } from "./watcher.js";

/**
 * Reports to the watcher the outcomes of a database's two-phase transactions (invariant 11). Every
 * error code except that for an unknown outcome guarantees that nothing was written.
 */
export function watchOutcomes(watcher: ProtocolWatcher, events: Pick<Emitter, "on">): void {
  events.on("commit", ({ phases, cells, startTimestamp, commitTimestamp }) => {
    if (phases === 2 && cells > 0) watcher.told(startTimestamp, "committed", commitTimestamp);
  });
  events.on("conflict", ({ phases, startTimestamp }) => {
    if (phases === 2) watcher.told(startTimestamp, "not-written");
  });
  events.on("rollback", ({ phases, startTimestamp, error }) => {
    if (phases === 2 && !(error instanceof CommitOutcomeUnknownError)) {
      watcher.told(startTimestamp, "not-written");
    }
  });
}
