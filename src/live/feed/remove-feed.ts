import { checkArgument } from "../../errors/index.js";
import type { Registry } from "../../observer/index.js";
import { removeEntries } from "./remove-entries.js";

/**
 * Removes a feed and its entries: see `Database.removeFeed`. Meanwhile another process may record
 * the feed again. Its new entries stay.
 */
export async function removeFeed(registry: Registry, name: string, signal?: AbortSignal): Promise<void> {
  checkArgument("db.removeFeed", "the name of a feed", name, typeof name === "string");
  const forgotten = await registry.forgetFeed(name, signal);
  await registry.untilFeedKnown(name, await registry.current(), signal);
  await removeForgotten(registry, name, forgotten, signal);
}

/**
 * Removes what a feed left that was not recorded at a timestamp. If it was recorded again since, no
 * reader wants entries from before that record is complete.
 */
export async function removeForgotten(
  registry: Registry,
  name: string,
  forgotten: number,
  signal: AbortSignal | undefined,
): Promise<void> {
  await removeEntries(registry.context, name, registry.feedCompleteFrom(forgotten), signal);
}
