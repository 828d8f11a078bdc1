import { type Database, feed } from "../../../src/index.js";
import type { ClientHandle, FeedReading, Program } from "../../../src/testing/exploration/index.js";
import { expectEqual, once, pages } from "./tables.js";

const textFeed = feed("text-feed", [pages.text]);

/** The observed cell sorts after the other one, so that it is a secondary. */
const write = (row: string) => (client: ClientHandle) =>
  client.db.transact((tx) => {
    tx.set(pages.words, "a", 1);
    tx.set(pages.text, row, row);
  }, once);

const writeAlone = (row: string) => (client: ClientHandle) =>
  client.db.transact((tx) => tx.set(pages.text, row, row), once);

const remove = (row: string) => (client: ClientHandle) =>
  client.db.transact((tx) => tx.delete(pages.text, row), once);

/**
 * Reads twice. The second reading begins where the first one ended. Returns what it read, because
 * the explorer tells executions apart by what their clients return.
 */
const readTwice = async (
  client: ClientHandle,
  between?: (client: ClientHandle) => Promise<void>,
): Promise<FeedReading | "lost"> => {
  const first = await client.readFeed(textFeed, undefined);
  if (first === "lost") return first;
  client.shared.set("read", first);
  await between?.(client);
  const second = await client.readFeed(textFeed, first.upTo);
  if (second === "lost") return second;
  const both = { ...second, since: first.since, rows: [...first.rows, ...second.rows] };
  client.shared.set("read", both);
  return both;
};

/**
 * What was read is exactly what had committed by then: no change is missing, none comes twice, and
 * they come in commit order.
 */
const isWhole =
  (...written: readonly string[]) =>
  async (db: Database, shared: ReadonlyMap<string, unknown>): Promise<void> => {
    const read = shared.get("read") as FeedReading | undefined;
    if (read === undefined) return;
    const commits: { readonly row: string; readonly at: number }[] = [];
    for (const row of written) {
      for (const { commitTimestamp } of await db.history(pages.text, row))
        if (commitTimestamp > read.since && commitTimestamp <= read.upTo)
          commits.push({ row, at: commitTimestamp });
    }
    const wanted = commits.sort((a, b) => a.at - b.at).map(({ row }) => row);
    expectEqual(`what the feed has in (${read.since}, ${read.upTo}]`, read.rows.join(), wanted.join());
  };

const reader = (client: ClientHandle) => readTwice(client);

const ofFeeds = {
  tables: [pages],
  feeds: [textFeed],
  clients: { A: write("p"), B: writeAlone("q"), reader },
  healed: async (db: Database, _: unknown, shared: ReadonlyMap<string, unknown>) =>
    isWhole("p", "q")(db, shared),
} as const;

export const feedTwoPhase: Program = {
  ...ofFeeds,
  name: "two writers of a feed and a reader, without atomic batches",
  atomicBatches: false,
  commit: "two-phase",
  clients: { A: writeAlone("p"), B: writeAlone("q"), reader },
};

export const feedAlone: Program = {
  ...ofFeeds,
  name: "a writer of a feed and a reader, without atomic batches",
  atomicBatches: false,
  commit: "two-phase",
  clients: { A: writeAlone("p"), reader },
};

export const feedOnePhase: Program = {
  ...ofFeeds,
  name: "a writer of a feed and a reader, in one phase",
  clients: { A: writeAlone("p"), reader },
};

export const feedDeletion: Program = {
  ...ofFeeds,
  name: "a deletion in a feed and a reader, in one phase",
  setup: (db) => db.transact((tx) => tx.set(pages.text, "p", "p")),
  clients: { A: remove("p"), reader },
};

export const feedMixed: Program = {
  ...ofFeeds,
  name: "two writers of a feed and a reader, one of them in one phase",
  commit: { A: "two-phase", B: "one-phase", reader: "one-phase" },
};

export const feedDistant: Program = {
  ...ofFeeds,
  name: "a writer of a feed that may stop, and a reader, without atomic batches",
  atomicBatches: false,
  commit: "two-phase",
  clients: { A: write("p"), reader },
  faults: { stops: 1 },
};

export const feedLost: Program = {
  ...ofFeeds,
  name: "a writer of a feed that loses an answer, and a reader, without atomic batches",
  atomicBatches: false,
  commit: "two-phase",
  clients: { A: write("p"), reader },
  faults: { lostAnswers: 1 },
};

/**
 * A feed with an old entry is removed, while another client declares it again, writes and reads. The
 * removal takes none of the entries that the new feed is to have.
 */
export const feedRemoved: Program = {
  ...ofFeeds,
  name: "a feed that is removed, and declared again by another client, in one phase",
  systemRequests: "registry",
  setup: (db) => db.transact((tx) => tx.set(pages.text, "p", "p")),
  clients: {
    remover: ({ db }) => db.removeFeed(textFeed.name),
    other: async (client) => {
      await client.register([], [textFeed]);
      return await readTwice(client, writeAlone("q"));
    },
  },
};
