import type { Mutant } from "./mutant.js";

const twoPhase = "src/transaction/commit/two-phase.ts";
const noEarly = {
  file: twoPhase,
  find: "    this.#announcement = this.#announce(feeds, start);\n",
  replace: "",
};

/** Mutants of the entries that transactions leave in feeds. */
export const feedMutants: readonly Mutant[] = [
  {
    name: "an entry of a feed announced after C was taken",
    takesLong: true,
    patches: [
      noEarly,
      {
        file: twoPhase,
        find: "if (await this.#announceAgain(view, commit)) continue;",
        replace: "await this.#announceAgain(view, commit);",
      },
    ],
    killedBy: "feedAlone",
  },
  {
    name: "a reader of a feed that does not look back for earlier announcements",
    patches: [
      {
        file: "src/live/feed/feed-entries.ts",
        find: "const from = Math.max(0, since - announcedUs);",
        replace: "const from = since;",
      },
    ],
    killedBy: "feedAlone",
    order: "depth-first",
  },
  {
    name: "entries of a feed in the order of their announcements",
    takesLong: true,
    patches: [
      {
        file: "src/live/feed/feed-entries.ts",
        find: "while (place > 0 && waiting[place - 1]!.commit > entry.commit) place--;",
        replace: "",
      },
      {
        file: "src/live/feed/feed-entries.ts",
        find: "while (waiting.length > 0 && waiting[0]!.commit <= entry.stamp) yield waiting.shift()!;",
        replace: "",
      },
    ],
    killedBy: "feedTwoPhase",
  },
  {
    name: "one-phase commits that leave no entries",
    patches: [
      {
        file: "src/transaction/commit/one-phase.ts",
        find: "if (view?.feeds !== undefined) {",
        replace: "if (view?.feeds === undefined && view !== undefined && view.feeds !== undefined) {",
      },
    ],
    killedBy: "feedOnePhase",
  },
  {
    name: "a reader of a feed that gets its last transaction again",
    takesLong: true,
    order: "depth-first",
    patches: [
      {
        file: "src/live/feed/feed-entries.ts",
        find: '"commit", since + 1, upTo + 1',
        replace: '"commit", since, upTo + 1',
      },
    ],
    killedBy: "feedMixed",
  },
  {
    name: "entries of both commit paths not in commit order",
    order: "depth-first",
    takesLong: true,
    patches: [
      {
        file: "src/live/feed/feed-entries.ts",
        find: "left.value.commit < right.value.commit",
        replace: "left.value.commit > right.value.commit",
      },
    ],
    killedBy: "feedMixed",
  },
  {
    name: "deletions left out of the entries of a feed",
    patches: [
      {
        file: "src/transaction/feed/feed-writes.ts",
        find: "of feeds.feedsOf(write.table, write.column)",
        replace: "of write.value === undefined ? [] : feeds.feedsOf(write.table, write.column)",
      },
    ],
    killedBy: "feedDeletion",
  },
  {
    name: "the removal of a feed takes every entry of its name",
    patches: [
      {
        file: "src/live/feed/remove-entries.ts",
        find: '(part === "write" && timestamp <= upTo)',
        replace: 'part === "write"',
      },
      {
        file: "src/live/feed/remove-entries.ts",
        find: "feedRow(feed, order, upTo + 1)",
        replace: "feedRow(feed, order, Number.MAX_SAFE_INTEGER)",
      },
    ],
    killedBy: "feedRemoved",
    order: "depth-first",
  },
];
