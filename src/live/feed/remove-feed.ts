import type { Registry } from "../../observer/index.js";
import { removeEntries } from "./remove-entries.js";

/** Removes a feed and its entries: see `Database.removeFeed`. */
export async function removeFeed(registry: Registry, name: string, signal?: AbortSignal): Promise<void> {
  await registry.forgetFeed(name, signal);
  await registry.untilFeedKnown(name, await registry.current(), signal);
  await removeEntries(registry.context, name, signal);
}
