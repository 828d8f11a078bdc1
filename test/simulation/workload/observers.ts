import { type Observer, observer } from "percolatordb";
import type { SeededRandom } from "percolatordb/testing";
import { demandEqual } from "./expect.js";
import { logins, pages, sessions, totals } from "./tables.js";

const shards = ["even", "odd"];

/** Returns the sum to which a page contributes. */
function shardOf(page: string): string {
  return shards[page.charCodeAt(0) % shards.length]!;
}

/** What the observers of one run share, in addition to the database. */
export interface ObservedWorld {
  readonly random: SeededRandom;
  /** Whether the observers that sometimes fail do so. */
  fails: boolean;
}

/** The observers that every process has from the beginning. */
export function observersOf(world: ObservedWorld): readonly Observer[] {
  const { random } = world;
  const length = observer("length", pages.text, async (tx, { row, value, previous }) => {
    if (value === undefined) tx.delete(pages.length, row);
    else tx.set(pages.length, row, value.length);
    const change = (value?.length ?? 0) - (previous?.length ?? 0);
    if (change === 0) return;
    const shard = shardOf(row);
    tx.set(totals.length, shard, ((await tx.get(totals.length, shard)) ?? 0) + change);
  });
  const tags = observer("tags", pages.tags, async (tx, { row, value, qualifier }) => {
    if (value === undefined) tx.delete(pages.upperTags.at(qualifier), row);
    else tx.set(pages.upperTags.at(qualifier), row, value.toUpperCase());
    const stands = await tx.get(pages.tags.at(qualifier), row);
    demandEqual(`the tag ${qualifier} of ${row}, read again`, stands, value);
  });
  const topic = observer(
    "topic",
    pages.topicChanged,
    async (tx, { row }) => {
      if (world.fails && random.chance(0.4)) throw new Error("The topics are away.");
      const stands = await tx.get(pages.topic, row);
      if (stands === undefined) tx.delete(pages.topicSeen, row);
      else tx.set(pages.topicSeen, row, stands);
    },
    { attempts: 2, backoff: { initialMs: 10, maximumMs: 50 } },
  );
  const review = observer(
    "review",
    pages.text,
    async (tx, { row, value }) => {
      if (world.fails && random.chance(0.4)) throw new Error("The reviewer is away.");
      if (value === undefined) tx.delete(pages.reviewed, row);
      else tx.set(pages.reviewed, row, value);
    },
    { attempts: 2, backoff: { initialMs: 10, maximumMs: 50 } },
  );
  const login = observer("login", logins.token, async (tx, { row, value, previous }) => {
    if (value === undefined) tx.delete(sessions.token, row);
    else tx.set(sessions.token, row, value);
    const change = Number(value !== undefined) - Number(previous !== undefined);
    tx.set(sessions.open, "all", ((await tx.get(sessions.open, "all")) ?? 0) + change);
  });
  return [length, words(1), tags, topic, review, login];
}

/** The two versions count words in different ways. */
function words(version: 1 | 2): Observer {
  return observer(
    "words",
    pages.text,
    (tx, { row, value }) => {
      if (value === undefined) tx.delete(pages.words, row);
      else tx.set(pages.words, row, version * value.split(" ").length);
    },
    { version },
  );
}

/** Observers that are registered while others write. */
export const mirror = observer("mirror", pages.text, (tx, { row, value }) => {
  if (value === undefined) tx.delete(pages.mirrored, row);
  else tx.set(pages.mirrored, row, value);
});

export const newWords = words(2);

export const laterObservers = [mirror, newWords];
