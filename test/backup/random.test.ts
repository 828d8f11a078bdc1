import type { Database } from "percolatordb";
import type { BackupReport } from "percolatordb/backup";
import { describe, expect, test } from "vitest";
import { Random } from "../crash/random.js";
import { checkContinued, contents } from "./app.js";
import { change } from "./load.js";
import { Places } from "./restored.js";

interface Seen {
  readonly timestamp: number;
  readonly contents: object;
}

interface Made {
  readonly report: BackupReport;
  /** What was committed when the backup began. */
  readonly before: Seen;
  /** What the original has at the backup's timestamp. */
  readonly exact: Seen;
}

async function seen(db: Database, at?: number): Promise<Seen> {
  await using snapshot = await db.snapshot({ at });
  return { timestamp: snapshot.timestamp, contents: await contents(snapshot) };
}

/** Backups at random moments of random transactions, while a worker runs. */
describe("backups at random moments", () => {
  test.each([
    { seed: 1, commit: "auto", rounds: 6 },
    { seed: 2, commit: "two-phase", rounds: 4 },
  ] as const)(
    "are states of the database, and a restored one continues ($commit, seed $seed)",
    async ({ seed, commit, rounds }) => {
      await using places = await Places.make();
      const random = new Random(`backup:${seed}`);
      const below = (limit: number) => random.below(limit);
      const made: Made[] = [];
      {
        await using db = await places.openData({ commit });
        for (let round = 0; round < rounds; round++) {
          await using worker = db.work();
          const load = (async () => {
            for (let count = below(20); count >= 0; count--) {
              await Promise.all(Array.from({ length: 1 + below(6) }, () => change(db, below)));
            }
          })();
          await Promise.all(Array.from({ length: below(15) }, () => change(db, below)));
          const before = await seen(db);
          const report = await places.backUp();
          await load;
          if (below(2) === 0) await worker.idle();
          if (below(3) === 0) await db.collect({ retentionMs: 60_000 });
          made.push({ report, before, exact: await seen(db, report.timestamp) });
        }
        await db.drain();
      }
      expect(made.map(({ report }) => report.kind)).toContain("changes");
      for (const { report, before, exact } of made) {
        // The newest backup whose timestamp is at most its own.
        await places.restored(report.timestamp, async (db, restored) => {
          expect(restored).toMatchObject({ timestamp: report.timestamp, name: report.name });
          // What was committed before is there, with its history.
          expect(await seen(db, before.timestamp)).toEqual(before);
          // In two phases, a transaction can have its timestamp before it is committed.
          if (commit === "auto") expect(await seen(db, report.timestamp)).toEqual(exact);
          const after = await db.begin();
          expect(after.startTimestamp).toBeGreaterThan(made.at(-1)!.report.timestamp);
          await after.rollback();
          await checkContinued(db);
          // It is as good as the original: it takes changes, and handles them.
          for (let each = 0; each < 5; each++) await change(db, below);
          await checkContinued(db);
        });
      }
    },
  );
});
