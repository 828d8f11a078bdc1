import { expect } from "vitest";
import { BackupPlace } from "../../src/backup/place.js";
import { storageOf } from "../../src/backup/storage-of.js";
import { systemEnvironment } from "../../src/environment/index.js";
import { Random } from "../crash/random.js";
import { ProgramProcess } from "../support/program-process.js";
import { pause, until } from "../support/waiting.js";
import { checkContinued } from "./app.js";
import { items } from "./load.js";
import { Places } from "./restored.js";

/** What the rounds have shown. */
export interface KillTally {
  /** Rounds in which both processes were killed: the whole machine, as far as a test can. */
  databaseKills: number;
  /** Rounds in which only the process that follows was killed. */
  followerKills: number;
  /**
   * The most milliseconds of acknowledged commits that a restored folder lacked, in the rounds in which
   * both were killed at the same time.
   */
  mostLostMs: number;
  /** Backups that were read completely. */
  verified: number;
}

/** Time between two backups. */
export const everyMs = 100;

const child = "test/backup/killed-child.ts";

/**
 * Kills processes at random moments: one that writes with a worker, and one that follows it. Then
 * restores the newest backup and one before it. Ends when the one that writes was killed `kills` times.
 *
 * A commit that was acknowledged before the last backup began is in the backup. So what is lost was
 * acknowledged within the interval and the time of one backup before the kill: the follower prints a
 * line after each backup, with the moment at which it was taken.
 */
export async function playKills(seed: string, kills: number): Promise<KillTally> {
  const tally: KillTally = { databaseKills: 0, followerKills: 0, mostLostMs: 0, verified: 0 };
  const random = new Random(seed);
  await using places = await Places.make();
  await (await places.openData()).close();
  for (let round = 0; tally.databaseKills < kills; round++) {
    const killsBoth = random.chance(0.5);
    const writer = new ProgramProcess(child, ["write", places.data, `${seed}:${round}`]);
    const follower = new ProgramProcess(child, ["follow", places.data, places.backups, String(everyMs)]);
    try {
      const hasBegun = () => writer.lines.length > 0 && follower.lines.length > 0;
      await until(() => hasBegun() || writer.hasEnded || follower.hasEnded);
      expect(hasBegun(), `${writer.errors}\n${follower.errors}`).toBe(true);
      await pause(random.below(600));
      follower.signal("SIGKILL");
      if (killsBoth) writer.signal("SIGKILL");
      else writer.tell("stop");
      await Promise.all([writer.ended(), follower.ended()]);
    } finally {
      await Promise.all([writer.kill(), follower.kill()]);
    }
    await checkPlace(places, tally, round);
    const lostMs = await checkRestored(places, acknowledged(writer), lastBackup(follower));
    if (killsBoth) {
      tally.databaseKills++;
      tally.mostLostMs = Math.max(tally.mostLostMs, lostMs);
    } else tally.followerKills++;
  }
  return tally;
}

interface Acknowledged {
  readonly timestamp: number;
  readonly number: number;
  /** When its answer came, in milliseconds since 1970. */
  readonly answeredAt: number;
}

/** The environment's clock may be ahead of `Date.now` by 5 ms. */
const aheadMs = 6;

function acknowledged(writer: ProgramProcess): readonly Acknowledged[] {
  return writer.lines.flatMap((line) => {
    const found = /^(\d+) (\d+) (\d+)$/.exec(line);
    return found === null
      ? []
      : [{ number: Number(found[1]), timestamp: Number(found[2]), answeredAt: Number(found[3]) }];
  });
}

/** When the state of the last backup was taken that the follower has reported. */
function lastBackup(follower: ProgramProcess): number {
  return Number(follower.lines.at(-1));
}

/** The killed backup may have left files, but everything that a backup needs is there. */
async function checkPlace(places: Places, tally: KillTally, round: number): Promise<void> {
  const place = await BackupPlace.open(storageOf(places.backups, systemEnvironment, {}), systemEnvironment, {
    create: false,
  });
  expect(await place.verify(), `round ${round}`).toEqual([]);
  tally.verified += (await place.list()).length;
}

async function checkRestored(
  places: Places,
  commits: readonly Acknowledged[],
  takenAt: number,
): Promise<number> {
  let lostMs = 0;
  await places.restored(undefined, async (db, report) => {
    expect(report.takenAt).toBeGreaterThanOrEqual(takenAt);
    await using snapshot = await db.snapshot();
    const newest = (await snapshot.get(items.value, "newest")) ?? -1;
    for (const { number, timestamp, answeredAt } of commits) {
      // Nothing that the state should have is missing, and nothing is there from after it.
      expect(newest >= number, `commit ${number} at ${timestamp}, state of ${report.timestamp}`).toBe(
        timestamp <= report.timestamp,
      );
      if (newest >= number) continue;
      lostMs = Math.max(lostMs, (timestamp - report.timestamp) / 1_000);
      // What is missing was answered after the backup was taken.
      expect(answeredAt + aheadMs).toBeGreaterThan(report.takenAt);
    }
    await checkContinued(db);
  });
  return lostMs;
}
