import { expect, test } from "vitest";
import { everyMs, playKills } from "./killed.js";

test("a database that is followed is killed 200 times under load", async () => {
  // Two places at a time: starting the processes takes longer than what they do.
  const tallies = await Promise.all(["one", "two"].map((seed) => playKills(`long:${seed}`, 100)));
  const sum = (of: (tally: (typeof tallies)[number]) => number) => of(tallies[0]!) + of(tallies[1]!);
  expect(sum(({ databaseKills }) => databaseKills)).toBe(200);
  expect(sum(({ followerKills }) => followerKills)).toBeGreaterThan(100);
  const mostLostMs = Math.max(...tallies.map((tally) => tally.mostLostMs));
  process.stdout.write(
    `${sum(({ verified }) => verified)} backups read; at most ${Math.round(mostLostMs)} ms of commits lost, ` +
      `with a backup every ${everyMs} ms\n`,
  );
}, 3_600_000);
