import { type Database, open } from "percolatordb";
import { beforeEach, describe, expect, test } from "vitest";
import { WrongResultError } from "../harness/compare.js";
import { Crawl } from "./crawl.js";
import { joined, Repository } from "./repository.js";
import { clusters, clusterTelling, documents } from "./tables.js";
import { countWrong } from "./verify.js";

const repository = new Repository(20);
/** At this rate each document is due a millisecond after the previous one. */
const perSecond = 1_000;

/** A clock that advances by the requested waits, without real waiting. */
class Clock {
  ms = 0;

  monotonic(): number {
    return this.ms;
  }

  setTimer(callback: () => void, delayMs: number) {
    setImmediate(() => {
      this.ms += delayMs;
      callback();
    });
    return { cancel() {} };
  }
}

let clock: Clock;
let db: Database;
let crawl: Crawl;
/** The document whose clustering is not reported to the crawl. */
let untold: string | undefined;

beforeEach(async () => {
  clock = new Clock();
  untold = undefined;
  const watched = clusterTelling((url) => {
    if (url !== untold) crawl.clustered(url);
  });
  db = await open("memory:", { tables: [documents, clusters], observers: [watched] });
  crawl = new Crawl(db, repository, clock);
  await crawl.fill();
  await db.drain();
  return () => db.close();
});

describe("a crawl", () => {
  test("counts every document once, crawl by crawl", async () => {
    await using _ = db.work();
    for (const seconds of [0.02, 0.005, 0.015]) {
      const { loaded, delays } = await crawl.run(perSecond, seconds);
      expect(loaded).toBe(perSecond * seconds);
      expect(delays).toHaveLength(loaded);
      expect(delays[0]).toBeGreaterThanOrEqual(0);
      expect([...delays].sort((a, b) => a - b)).toEqual(delays);
    }
    expect(await countWrong(db, crawl.documents())).toBe(0);
  });

  test("counts documents that are clustered late, with their whole delay", async () => {
    // No worker runs during the load. Afterwards the clock jumps ahead, and only then do observers
    // run.
    const idle = async () => {
      clock.ms = 5_000;
      await db.drain();
    };
    crawl = new Crawl({ transact: (run, options) => db.transact(run, options), idle }, repository, clock);
    const { loaded, delays, late } = await crawl.run(perSecond, 0.01);
    expect([loaded, late]).toEqual([10, 10]);
    expect(delays.map(Math.round)).toEqual([
      4_991, 4_992, 4_993, 4_994, 4_995, 4_996, 4_997, 4_998, 4_999, 5_000,
    ]);
  });

  test("fails if a document was never clustered, and names it", async () => {
    await using _ = db.work();
    untold = repository.url(3);
    const crawling = crawl.run(perSecond, 0.01);
    await expect(crawling).rejects.toThrow(WrongResultError);
    await expect(crawling).rejects.toThrow(`1 of 10 documents were never clustered, ${untold} among them`);
  });

  test("fails if a document could not be loaded", async () => {
    let loads = 0;
    const failing: Pick<Database, "transact" | "idle"> = {
      transact: (run, options) =>
        ++loads === 4 ? Promise.reject(new Error("no disk")) : db.transact(run, options),
      idle: () => db.drain(),
    };
    crawl = new Crawl(failing, repository, clock);
    await expect(crawl.run(perSecond, 0.01)).rejects.toThrow("no disk");
  });

  test("does not crawl a document twice, because its delays could not be told apart", async () => {
    await expect(crawl.run(perSecond, 0.021)).rejects.toThrow(RangeError);
  });
});

describe("the final check", () => {
  beforeEach(async () => {
    await using _ = db.work();
    await crawl.run(perSecond, 0.01);
  });

  const wrong = () => countWrong(db, crawl.documents());

  test("finds nothing if everything is correct", async () => {
    expect(await wrong()).toBe(0);
  });

  test("finds a document that was lost, and the clusters of its keys", async () => {
    const [url, before] = [repository.url(2), repository.keys(2, 0)];
    const now = repository.keys(2, 1);
    await db.transact((tx) => tx.set(documents.keys, url, joined(before)));
    await db.drain();
    const changed = [
      ...before.filter((key) => !now.includes(key)),
      ...now.filter((key) => !before.includes(key)),
    ];
    expect(await wrong()).toBe(1 + changed.length);
  });

  test("finds a cluster that lacks a member, and one with a superfluous member", async () => {
    const url = repository.url(4);
    const keys = repository.keys(4, 1);
    await db.transact((tx) => tx.delete(clusters.members.at(url), keys[0]!));
    expect(await wrong()).toBe(1);
    await db.transact((tx) => tx.set(clusters.members.at("nowhere"), keys[1]!, true));
    expect(await wrong()).toBe(2);
  });
});
