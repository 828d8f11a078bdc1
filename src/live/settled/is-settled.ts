import type { Registry } from "../../observer/index.js";
import { currentTimestamp } from "../../oracle/index.js";
import { readEntries } from "../feed/feed-entries.js";
import { leasedFeedName } from "../feed/leases.js";
import { dueOfOlder } from "./due-then.js";
import { Waiter } from "./waiter.js";

const entriesAtOnce = 1_000;

/**
 * Whether everything that a commit has caused is handled now. For explorations, which cannot wait:
 * `Settling` does the same again and again. The feed of all observed columns must be recorded since
 * before the commit. `isOlder` treats the commit as one from before the feed.
 *
 * @throws DerivationFailedError if something is parked.
 */
export async function isSettled(
  registry: Registry,
  commitTimestamp: number,
  isOlder: boolean,
): Promise<boolean> {
  const { context } = registry;
  const asked = { commitTimestamp, counts: () => true, signal: undefined };
  const start = isOlder
    ? await dueOfOlder(registry, asked, await currentTimestamp(context))
    : { position: commitTimestamp - 1, root: commitTimestamp };
  const waiter = new Waiter(registry, asked.counts, start);
  const upTo = await currentTimestamp(context);
  while (waiter.position < upTo && !waiter.hasEnded) {
    const feed = leasedFeedName({ observed: true });
    const batch = await readEntries(context, { feed, since: waiter.position, upTo, limit: entriesAtOnce });
    await waiter.read(batch, await registry.fresh());
  }
  waiter.endIfDone();
  if (waiter.hasEnded) await waiter.done;
  return waiter.hasEnded;
}
