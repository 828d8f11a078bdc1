import { FeedCursor, type FeedSource } from "./changes.js";
import { isLoss } from "./is-loss.js";
import { type LeasedFollow, leasedFeedName } from "./leases.js";

const maxAttempts = 10;

/**
 * Holds a leased feed and opens a cursor in it: after `position`, or where the feed begins if that is
 * later. Default: now. Call `release` when the cursor is no longer needed.
 */
export async function openLeased(
  source: FeedSource,
  follow: LeasedFollow,
  position: number | undefined,
  signal: AbortSignal,
): Promise<{ readonly cursor: FeedCursor; readonly release: () => void }> {
  const { registry, leases } = source;
  const name = leasedFeedName(follow);
  const open = () =>
    position === undefined
      ? FeedCursor.open(source, name, undefined)
      : FeedCursor.openFrom(source, name, position);
  for (let attempt = 1; ; attempt++) {
    const release = await registry.retrying(() => leases.hold(follow, signal), signal);
    try {
      return { cursor: await registry.retrying(open, signal), release };
    } catch (error) {
      release();
      // Collection may have found an older lease over, and removes the feed after this one has begun.
      if (!isLoss(error) || attempt === maxAttempts) throw error;
    }
  }
}
