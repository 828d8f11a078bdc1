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
import { contentHash, pageId } from "../identity.js";
import { clusters, documents, links, memberKey, shards, tables } from "../tables.js";
import { cluster, elect } from "./cluster.js";
import { indexPage } from "./index-page.js";
import { merge } from "./merge.js";

const url = "https://example.org/a";
const other = "https://example.org/b";
const hash = contentHash(Buffer.from("x"));
const { text: id, shard } = pageId(url);

/**
 * Two processes may run one weak observer for one row at the same time. The run that saw less must not commit after the
 * one that saw more, even where that one found nothing to do.
 */
describe("runs of one row that overlap", () => {
  let db: Database;

  beforeEach(async () => {
    db = await open("memory:", { tables });
    await db.transact((tx) => {
      tx.set(documents.contents, url, packContents({ contentType: "text/plain", body: Buffer.from("x") }));
      tx.set(documents.hash, url, hash);
      tx.set(documents.words, url, "x 1");
    });
    await run(cluster, url);
    await run(indexPage, url);
    await run(merge, shard);
  });

  afterEach(() => db.close());

  const call = (observer: Observer, tx: Transaction, row: string) =>
    observer.run(tx, { row } as unknown as Change);

  async function run(observer: Observer, row: string): Promise<void> {
    await db.transact((tx) => call(observer, tx, row) as Promise<void>);
  }

  /** A run that sees a change which is taken back before it commits, and a run after that. */
  async function overlap(
    observer: Observer,
    row: string,
    change: (tx: Transaction) => void,
    back: (tx: Transaction) => void,
  ) {
    await db.transact(change);
    const stale = await db.begin();
    await call(observer, stale, row);
    await db.transact(back);
    await run(observer, row);
    await expect(stale.commit()).rejects.toThrow(ConflictError);
  }

  it("conflict: cluster, when a link comes and goes", () =>
    overlap(
      cluster,
      url,
      (tx) => tx.set(links.sources.at("s"), url, "text"),
      (tx) => tx.delete(links.sources.at("s"), url),
    ));

  it("conflict: cluster, when the page comes and goes", async () => {
    await overlap(
      cluster,
      other,
      (tx) => tx.set(documents.hash, other, hash),
      (tx) => tx.delete(documents.hash, other),
    );
  });

  it("conflict: elect, when a member comes and goes", () => {
    const member = clusters.members.at(memberKey(9, other));
    return overlap(
      elect,
      hash,
      (tx) => tx.set(member, hash, 9),
      (tx) => tx.delete(member, hash),
    );
  });

  it("conflict: index, when words come and go", () =>
    overlap(
      indexPage,
      url,
      (tx) => tx.set(documents.words, url, "y 1"),
      (tx) => tx.set(documents.words, url, "x 1"),
    ));

  it("conflict: index, when an anchor comes and goes", () =>
    overlap(
      indexPage,
      url,
      (tx) => tx.set(links.sources.at("s"), url, "text"),
      (tx) => tx.delete(links.sources.at("s"), url),
    ));

  it("conflict: merge, with an index that changes the terms again", async () => {
    await db.transact((tx) => tx.set(documents.words, url, "y 1"));
    await run(indexPage, url);
    const merging = await db.begin();
    await call(merge, merging, shard);
    await db.transact((tx) => tx.set(documents.words, url, "z 1"));
    await run(indexPage, url);
    await expect(merging.commit()).rejects.toThrow(ConflictError);
    await using view = await db.snapshot();
    expect(await view.get(shards.pending.at(id), shard)).toEqual([url, "x 1"]);
  });

  it("conflict: two moves within one small cluster", async () => {
    await db.transact((tx) => tx.set(documents.hash, other, hash));
    const moving = await db.begin();
    await call(cluster, moving, other);
    await db.transact((tx) => tx.set(links.sources.at("s"), url, "text"));
    await run(cluster, url);
    await expect(moving.commit()).rejects.toThrow(ConflictError);
  });
});
