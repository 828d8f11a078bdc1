import { expect, test } from "vitest";
import { playKills } from "./killed.js";

test("a follower, or it and its database, can be killed at any moment", async () => {
  const tally = await playKills("fast", 2);
  expect(tally.databaseKills).toBe(2);
  expect(tally.followerKills).toBeGreaterThan(0);
  expect(tally.verified).toBeGreaterThan(3);
}, 300_000);
