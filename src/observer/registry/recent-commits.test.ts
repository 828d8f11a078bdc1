import { type Database, observer, table, text } from "percolatordb";
import { describe, expect, test } from "vitest";
import { withDatabase } from "../../../test/support/databases.js";
import { collectGarbage } from "../../../test/support/garbage.js";
import { RecentCommits } from "./recent-commits.js";

const cellOf = (row: string, column = "body") => ({
  table: "pages",
  row: Buffer.from(row),
  column: Buffer.from(column),
});

describe("the recent commits", () => {
  test("are found with their hints and what they handled", () => {
    const recent = new RecentCommits();
    const hints = [
      { observer: "words", cell: cellOf("a") },
      { observer: "links", cell: cellOf("", "links\0x") },
      { observer: "links", cell: cellOf("long".repeat(25)) },
    ];
    const handled = { observer: "words", cell: cellOf("a"), upTo: 2 ** 52 + 1, isParked: false };
    const parked = { ...handled, isParked: true };
    const other = { ...handled, observer: "links", cell: cellOf("a", "links\0x") };
    recent.add(hints, 10, []);
    recent.add([], 11, [handled]);
    recent.add(hints.slice(1), 12, [parked]);
    recent.add([], 13, [handled, other]);

    expect(recent.find(9)).toBeUndefined();
    expect(recent.find(10)).toEqual({ commitTimestamp: 10, hints, handled: [] });
    expect(recent.find(11)).toEqual({ commitTimestamp: 11, hints: [], handled: [handled] });
    expect(recent.find(12)).toEqual({ commitTimestamp: 12, hints: hints.slice(1), handled: [parked] });
    expect(recent.find(13)).toEqual({ commitTimestamp: 13, hints: [], handled: [handled, other] });
    expect(recent.runs().map(({ commitTimestamp }) => commitTimestamp)).toEqual([11, 13]);
  });

  test("are forgotten, the oldest first, and what was found before stays as it was", () => {
    const recent = new RecentCommits(1_000);
    const hintsOf = (commit: number) => [{ observer: "words", cell: cellOf(`row ${commit}`) }];
    recent.add(hintsOf(1), 1, []);
    const first = recent.find(1)!;
    for (let commit = 2; commit <= 500; commit++) {
      recent.add(hintsOf(commit), commit, []);
      const known = Array.from({ length: commit }, (_, index) => recent.find(index + 1) !== undefined);
      const oldest = known.indexOf(true);
      expect(known.slice(oldest)).not.toContain(false);
      // 51 bytes for each of the last. One block is always full, or is the first.
      expect(commit - oldest).toBeGreaterThanOrEqual(Math.min(commit, 18));
      expect(commit - oldest).toBeLessThan(50);
      expect(recent.find(commit)!.hints).toEqual(hintsOf(commit));
    }
    expect(first.hints).toEqual(hintsOf(1));
  });

  test("leave out a commit that is too large, and keep those before it", () => {
    const recent = new RecentCommits(100);
    recent.add([{ observer: "words", cell: cellOf("a") }], 1, []);
    recent.add([{ observer: "words", cell: cellOf("b".repeat(61)) }], 2, []);
    expect(recent.find(2)).toBeUndefined();
    expect(recent.find(1)).toBeDefined();
    // One byte less fits.
    recent.add([{ observer: "words", cell: cellOf("b".repeat(60)) }], 3, []);
    expect(recent.find(3)?.hints).toEqual([{ observer: "words", cell: cellOf("b".repeat(60)) }]);
  });
});

describe("a database does not keep in memory what it has committed", () => {
  const pages = table("pages", { body: text() });
  const mib = 1_024 * 1_024;

  async function mibAfter(db: Database, commits: number, afterwards: () => Promise<void>): Promise<number> {
    for (let index = 0; index < commits; index++) {
      await db.transact((tx) => tx.set(pages.body, `${index}`, "x".repeat(mib)));
    }
    await afterwards();
    collectGarbage();
    // What the first collection let go of may hold buffers.
    await new Promise((resolve) => setImmediate(resolve));
    collectGarbage();
    return process.memoryUsage().arrayBuffers / mib;
  }

  test.each(["auto", "two-phase"] as const)("when observers have run, commit: %s", async (commit) => {
    const lengths = observer("lengths", pages.body, () => undefined);
    const options = { tables: [pages], observers: [lengths], durability: "none" } as const;
    await withDatabase({ store: "lmdb", commit }, options, async (db) => {
      const worker = db.work();
      const before = await mibAfter(db, 8, () => db.idle());
      expect((await mibAfter(db, 40, () => db.idle())) - before).toBeLessThan(20);
      await worker.stop();
    });
  });

  test("while changes wait for an observer", async () => {
    let end = () => {};
    const mayEnd = new Promise<void>((resolve) => {
      end = resolve;
    });
    const slow = observer("slow", pages.body, () => mayEnd);
    await withDatabase(
      { store: "lmdb", commit: "auto" },
      { tables: [pages], observers: [slow], durability: "none" },
      async (db) => {
        const worker = db.work({ concurrency: 1 });
        const now = () => Promise.resolve();
        try {
          const before = await mibAfter(db, 8, now);
          expect((await mibAfter(db, 40, now)) - before).toBeLessThan(20);
        } finally {
          end();
        }
        await worker.stop();
      },
    );
  });
});
