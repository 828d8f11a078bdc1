import { CommitOutcomeUnknownError } from "../../errors/index.js";
import type { Emitter } from "../../events/index.js";
import type { ProtocolWatcher } from "./watcher.js";

/**
 * Tells the watcher what a database says of its two-phase transactions (invariant 11). Every failure but one says that nothing was
 * written: an unknown outcome promises nothing.
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
