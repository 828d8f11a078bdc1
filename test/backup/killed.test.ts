import { expect, test } from "vitest";
import { playKills } from "./killed.js";

test("a follower, or it and its database, can be killed at any moment", async () => {
  const tally = await playKills("fast", 3);
  expect(tally.rounds).toBe(3);
  expect(tally.verified).toBeGreaterThan(3);
}, 300_000);
