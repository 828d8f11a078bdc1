import { createReadStream, statSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Database } from "percolatordb";
import { describe, expect, test } from "vitest";
import { makePlace, type StoreName } from "../cluster/places.js";
import { temporaryFolder } from "../support/databases.js";
import { ProgramProcess } from "../support/program-process.js";
import { pause } from "../support/waiting.js";
import { fedTransactions, isEnd, items, LineDigests, lastRow, openItems, randomOf } from "./proof/items.js";
import type { ReaderOrders } from "./proof/reader.js";
import type { WriterOrders } from "./proof/writer.js";

/**
 * Four processes commit random transactions and are killed again and again. A feed that is replayed
 * into an empty map equals a scan at each of many timestamps, and a reader that is killed at random
 * points misses nothing and gets nothing twice.
 *
 * `FEED_OPERATIONS=1000000 npx vitest run --mode long test/live/feeds.long.test.ts` does it with a
 * million changes, with 1,000 comparisons and 100 kills of the reader, and on every store. Without the
 * variable it is a short run on a folder.
 */
const given = process.env.FEED_OPERATIONS;
const wanted = Number(given ?? 1_000);
const isWhole = wanted >= 1_000_000;
const hours = 3_600_000;

interface Course {
  readonly store: StoreName;
  readonly commit: "auto" | "two-phase";
  /** The share of the changes that this store gets, since some take long. */
  readonly share: number;
}

const courses: readonly Course[] = [
  { store: "lmdb", commit: "auto", share: 1 },
  { store: "lmdb", commit: "two-phase", share: 0.25 },
  { store: "postgres", commit: "auto", share: 0.25 },
  { store: "postgres", commit: "two-phase", share: 0.1 },
  { store: "bigtable", commit: "auto", share: 0.05 },
];

const writersAtOnce = 4;

class Run {
  readonly #place;
  readonly #course: Course;
  readonly #file: string;
  readonly #random = randomOf(7);
  readonly #operations: number;
  #left: number;
  #seed = 1;
  killedWriters = 0;
  killedReaders = 0;
  comparisons = 0;
  readonly digests = new LineDigests();

  constructor(place: Awaited<ReturnType<typeof makePlace>>, course: Course, file: string) {
    this.#place = place;
    this.#course = course;
    this.#file = file;
    this.#operations = Math.ceil(wanted * course.share);
    this.#left = this.#operations;
  }

  async open(): Promise<Database> {
    return await openItems(await this.#orders());
  }

  async #orders() {
    const { connection } = await this.#place.connect();
    return { connection, commit: this.#course.commit };
  }

  /** Runs writers until all changes are made. Kills some of them. */
  async write(): Promise<void> {
    await Promise.all(Array.from({ length: writersAtOnce }, () => this.#writeInTurn()));
  }

  async #writeInTurn(): Promise<void> {
    while (this.#left > 0) {
      const operations = Math.min(this.#left, Math.ceil(this.#operations / (writersAtOnce * 5)));
      this.#left -= operations;
      const orders: WriterOrders = {
        ...(await this.#orders()),
        seed: this.#seed++,
        operations,
        clients: 16,
      };
      const writer = new ProgramProcess("test/live/proof/writer.ts", [JSON.stringify(orders)]);
      const wrote = () => Number(writer.lines.findLast((line) => line.startsWith("wrote "))?.slice(6) ?? 0);
      const killAt = this.#random() < 0.5 ? Math.floor(this.#random() * operations) : operations;
      while (!writer.hasEnded && (killAt === operations || wrote() < killAt)) await pause(5);
      if (writer.hasEnded) {
        expect([writer.end, writer.errors]).toEqual(["0", ""]);
        continue;
      }
      await writer.kill();
      this.killedWriters++;
      // What it has not done, others do.
      this.#left += operations - wrote();
    }
  }

  /** Runs a reader in a process of its own, and kills it again and again. */
  async read(since: number): Promise<void> {
    const kills = isWhole ? 100 : given === undefined ? 2 : 10;
    const size = () => statSync(this.#file, { throwIfNoEntry: false })?.size ?? 0;
    // Some 40 bytes a change. A reader that is killed early in its life is as interesting.
    const step = (this.#operations * 40) / kills;
    for (;;) {
      const orders: ReaderOrders = { ...(await this.#orders()), file: this.#file, since };
      const reader = new ProgramProcess("test/live/proof/reader.ts", [JSON.stringify(orders)]);
      const killAt = size() + Math.floor(this.#random() * step) + 1;
      const isToBeKilled = this.killedReaders < kills;
      while (!reader.hasEnded && (!isToBeKilled || size() < killAt)) await pause(2);
      if (reader.hasEnded) {
        expect([reader.end, reader.errors]).toEqual(["0", ""]);
        return;
      }
      await reader.kill();
      this.killedReaders++;
    }
  }

  /** Replays the feed into a map, and compares it with scans at random timestamps. */
  async replay(db: Database, since: number): Promise<void> {
    // Three transactions make some five changes.
    const chance = (isWhole ? 1_600 : 160) / this.#operations;
    const cells = new Map<string, unknown>();
    let before = since;
    for await (const transaction of fedTransactions(db, since)) {
      expect(transaction.commitTimestamp).toBeGreaterThan(before);
      before = transaction.commitTimestamp;
      this.digests.add(transaction.line);
      for (const { row, column, qualifier, value } of transaction.changes) {
        const cell = `${String(row)}/${column.name}/${qualifier ?? ""}`;
        if (value === undefined) cells.delete(cell);
        else cells.set(cell, value);
      }
      const isLast = isEnd(transaction);
      if (!isLast && this.#random() >= chance) continue;
      expect(sorted(cells)).toEqual(sorted(await scanned(db, before)));
      this.comparisons++;
      if (isLast) break;
    }
    this.digests.end();
  }

  async digestsOfFile(): Promise<LineDigests> {
    const found = new LineDigests();
    for await (const line of createInterface({ input: createReadStream(this.#file) })) found.add(line);
    found.end();
    return found;
  }
}

const sorted = (cells: ReadonlyMap<string, unknown>) => [...cells].sort(([a], [b]) => (a < b ? -1 : 1));

async function scanned(db: Database, at: number): Promise<ReadonlyMap<string, unknown>> {
  const cells = new Map<string, unknown>();
  await using snapshot = await db.snapshot({ at });
  for await (const { row, value } of snapshot.scan(items)) {
    if (value.total !== undefined) cells.set(`${row}/total/`, value.total);
    if (value.state !== undefined) cells.set(`${row}/state/`, value.state);
    for (const [tag, count] of value.tags ?? []) cells.set(`${row}/tags/${tag}`, count);
  }
  return cells;
}

const isAsked = ({ store }: Course) => given !== undefined || store === "lmdb";

describe.each(courses.filter(isAsked))("a feed on $store, $commit", (course) => {
  test(
    "replayed equals scans, and a killed reader misses nothing and gets nothing twice",
    async () => {
      const folder = await temporaryFolder();
      await using place = await makePlace(course.store);
      const run = new Run(place, course, join(folder.path, "fed"));
      try {
        await using db = await run.open();
        const since = await (async () => {
          await using snapshot = await db.snapshot();
          return snapshot.timestamp;
        })();
        const writing = run.write().then(() => db.transact((tx) => tx.set(items.total, lastRow, 1)));
        await Promise.all([writing, run.replay(db, since), run.read(since)]);
        const found = await run.digestsOfFile();
        expect(found.count).toBe(run.digests.count);
        expect(found.digests).toEqual(run.digests.digests);
        expect(await db.check()).toEqual([]);
        process.stdout.write(
          `${course.store}, ${course.commit}: ${found.count} transactions in the feed, ${run.killedWriters} writers and ` +
            `${run.killedReaders} readers killed, ${run.comparisons} comparisons with a scan\n`,
        );
        expect(run.killedWriters).toBeGreaterThan(0);
        expect(run.killedReaders).toBeGreaterThan(0);
        expect(run.comparisons).toBeGreaterThan(10);
      } finally {
        await folder.remove();
      }
    },
    4 * hours,
  );
});
