import type { RegistryView } from "../../observer/index.js";
import { type AnyColumn, type Feed, type FeedColumn, feed, tableColumns } from "../../schema/index.js";

/** The feeds that the database has recorded, for a program without the module that declares them. */
export function recordedFeeds(view: RegistryView): ReadonlyMap<string, Feed> {
  const feeds = new Map<string, Feed>();
  for (const [name, { record }] of view.feedRecords) {
    if (record.isLeased) continue;
    const columns = record.columns.flatMap(({ table, column }) => {
      const known = view.table(table);
      return known === undefined ? [] : tableColumns(known).filter((each) => isFollowed(each, column));
    });
    feeds.set(name, feed(name, columns as readonly FeedColumn[], { retentionMs: record.retentionMs }));
  }
  return feeds;
}

function isFollowed(column: AnyColumn, name: string): column is FeedColumn {
  return column.name === name && column.kind !== "signal";
}
