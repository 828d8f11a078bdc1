import {
  type Change,
  ConflictError,
  type Database,
  type Observer,
  open,
  type Transaction,
} from "percolatordb";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { packContents } from "../contents.js";
import { contentHash, linkPlace, pageId } from "../identity.js";
import { clusters, documents, links, memberKey, shards, tables } from "../tables.js";
import { cluster, relink } from "./cluster.js";
import { elect } from "./elect.js";
import { index } from "./index-page.js";
import { merge } from "./merge.js";

const url = "https://example.org/a";
const other = "https://example.org/b";
const hash = contentHash(Buffer.from("x"));
const otherHash = contentHash(Buffer.from("y"));
const { text: id, shard } = pageId(url);

function addLink(tx: Transaction, target: string): void {
  const { row, prefix } = linkPlace(target);
  tx.set(links.sources.at(`${prefix}s`), row, "text");
}

function removeLink(tx: Transaction, target: string): void {
  const { row, prefix } = linkPlace(target);
  tx.delete(links.sources.at(`${prefix}s`), row);
}

/**
 * Two processes may run the observer of a signal for one row at the same time. The run that saw
 * less must not commit after the run that saw more, even if the second run found nothing to do.
 */
describe("overlapping runs of one row", () => {
  let db: Database;

  beforeEach(async () => {
    db = await open("memory:", { tables });
    await db.transact((tx) => {
      tx.set(documents.contents, url, packContents({ contentType: "text/plain", body: Buffer.from("x") }));
      tx.set(documents.hash, url, hash);
      tx.set(documents.words, url, "x 1");
    });
    await run(cluster, url);
    await run(merge, shard);
  });

  afterEach(() => db.close());

  const call = (observer: Observer, tx: Transaction, row: string) =>
    observer.run(tx, { row } as unknown as Change);

  async function run(observer: Observer, row: string): Promise<void> {
    await db.transact((tx) => call(observer, tx, row) as Promise<void>);
  }

  /**
   * Starts a run that sees a change. Then reverts the change and makes a second run, of the same or
   * another observer. Expects that the first run cannot commit.
   */
  async function overlap(
    [stale, later]: readonly [row: readonly [Observer, string], row: readonly [Observer, string]],
    change: (tx: Transaction) => void,
    back: (tx: Transaction) => void,
  ) {
    await db.transact(change);
    const tx = await db.begin();
    await call(stale[0], tx, stale[1]);
    await db.transact(back);
    await run(...later);
    await expect(tx.commit()).rejects.toThrow(ConflictError);
  }

  /** The observers that run for a page, as pairs in both orders. */
  const pairs = [
    [cluster, cluster],
    [relink, relink],
    [cluster, relink],
    [relink, cluster],
  ] as const;
  const named = pairs.map(([stale, later]) => ({ names: `${stale.name}, ${later.name}`, stale, later }));

  it.each(named)("conflict: $names, if a link is added and removed", ({ stale, later }) =>
    overlap(
      [
        [stale, url],
        [later, url],
      ],
      (tx) => addLink(tx, url),
      (tx) => removeLink(tx, url),
    ),
  );

  it.each(named)("conflict: $names, if the page's contents change and change back", ({ stale, later }) =>
    overlap(
      [
        [stale, url],
        [later, url],
      ],
      (tx) => tx.set(documents.hash, url, otherHash),
      (tx) => tx.set(documents.hash, url, hash),
    ),
  );

  it.each(named)("conflict: $names of a duplicate, if a link to it is added and removed", async (pair) => {
    await db.transact((tx) => tx.set(documents.hash, other, hash));
    await run(cluster, other);
    await overlap(
      [
        [pair.stale, other],
        [pair.later, url],
      ],
      (tx) => addLink(tx, other),
      (tx) => removeLink(tx, other),
    );
  });

  it("no conflict and no write if the page does not exist: whatever creates it runs afterwards", async () => {
    const tx = await db.begin();
    await call(relink, tx, other);
    await db.transact((tx) => tx.set(documents.hash, other, hash));
    await run(cluster, other);
    await tx.commit();
    await using view = await db.snapshot();
    expect(await view.get(documents.rank, other)).toBe(0);
  });

  it.each([
    { stale: cluster, later: cluster },
    { stale: relink, later: cluster },
  ])("conflict: $stale.name, $later.name, if a new page is added and removed", ({ stale, later }) =>
    overlap(
      [
        [stale, other],
        [later, other],
      ],
      (tx) => tx.set(documents.hash, other, hash),
      (tx) => tx.delete(documents.hash, other),
    ),
  );

  it("if a page's contents change and change back while a duplicate becomes canonical, the page has no terms left", async () => {
    await db.transact((tx) => tx.set(documents.hash, other, hash));
    await run(cluster, other);
    await db.transact((tx) => {
      tx.set(documents.hash, url, otherHash);
      addLink(tx, other);
    });
    await run(relink, other);
    await db.transact((tx) => tx.set(documents.hash, url, hash));
    await run(cluster, url);
    await using view = await db.snapshot();
    expect(await view.get(clusters.canonical, hash)).toBe(other);
    expect(await view.get(documents.terms, url)).toBeUndefined();
  });

  it("conflict: elect, if a member is added and removed", () => {
    const member = clusters.members.at(memberKey(9, other));
    return overlap(
      [
        [elect, hash],
        [elect, hash],
      ],
      (tx) => tx.set(member, hash, 9),
      (tx) => tx.delete(member, hash),
    );
  });

  it.each([
    { stale: index, later: index },
    { stale: index, later: cluster },
    { stale: index, later: relink },
    { stale: cluster, later: index },
    { stale: relink, later: index },
  ])("conflict: $stale.name, $later.name, if words are added and removed", ({ stale, later }) =>
    overlap(
      [
        [stale, url],
        [later, url],
      ],
      (tx) => tx.set(documents.words, url, "y 1"),
      (tx) => tx.set(documents.words, url, "x 1"),
    ),
  );

  it("conflict: merge, with a run of index that changes the terms again", async () => {
    await db.transact((tx) => tx.set(documents.words, url, "y 1"));
    await run(index, url);
    const merging = await db.begin();
    await call(merge, merging, shard);
    await db.transact((tx) => tx.set(documents.words, url, "z 1"));
    await run(index, url);
    await expect(merging.commit()).rejects.toThrow(ConflictError);
    await using view = await db.snapshot();
    expect(await view.get(shards.outdated.at(id), shard)).toBe("x 1");
    expect(await view.get(shards.waiting.at(id), shard)).toEqual([
      url,
      [1, 0, 0],
      [1, 0, 0],
      expect.any(Number),
    ]);
  });

  it("conflict: two moves within one small cluster", async () => {
    await db.transact((tx) => tx.set(documents.hash, other, hash));
    const moving = await db.begin();
    await call(cluster, moving, other);
    await db.transact((tx) => addLink(tx, url));
    await run(cluster, url);
    await expect(moving.commit()).rejects.toThrow(ConflictError);
  });
});
