export { CommitClock } from "./commit-clock.js";
export { type ChangesOptions, changes, type FeedSource } from "./feed/changes.js";
export { type CellChange, changesOf, type FeedChange } from "./feed/feed-change.js";
export { readEntries } from "./feed/feed-entries.js";
export { type FollowEvent, follow } from "./feed/follow.js";
export { recordedFeeds } from "./feed/recorded-feeds.js";
export { removeFeed } from "./feed/remove-feed.js";
export { trimFeeds } from "./feed/trim.js";
