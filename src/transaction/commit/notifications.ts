import type { TransactionContext } from "../context.js";
import { markerWrite } from "../feed/feed-writes.js";
import { currentView } from "./current-view.js";
import type { CommitOutcome } from "./outcome.js";
import { findHints, putHints } from "./put-hints.js";
import type { CommitRequest } from "./request.js";
import { commitTwoPhase } from "./two-phase.js";

/**
 * Commits a two-phase transaction that writes no cell: it only notifies signals, or is the run of a
 * signal's observer. The hints are all that it leaves. Only if it must leave an entry in a feed, it
 * commits as other transactions do, with a marker as its primary (protocol §5.15).
 */
export async function commitNotifications(
  context: TransactionContext,
  request: CommitRequest,
): Promise<CommitOutcome> {
  const { signals, hints: given, signal } = request;
  const isSilent = signals.length === 0 && given.length === 0;
  // The view must not be older than the commit timestamp, or a new observer could miss a signal.
  const commitTimestamp = isSilent ? undefined : await context.oracle.next({ signal });
  const view = await currentView(context, request);
  const marker = view?.feeds === undefined ? undefined : markerWrite(view.feeds, request);
  if (marker !== undefined) return commitTwoPhase(context, { ...request, writes: [marker] });
  if (commitTimestamp === undefined) return { commitTimestamp, hints: [] };
  const hints = await findHints(context, request, view);
  await putHints(context, request, hints, commitTimestamp);
  return { commitTimestamp, hints };
}
