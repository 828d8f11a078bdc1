import { expect, test } from "vitest";
import { pause } from "../support/waiting.js";
import { ProcessCluster } from "./cluster.js";
import { times } from "./members.js";

/** A minute, where that is asked for; else longer than a lease and than locks live. */
const awayMs = process.env.PERCOLATOR_AWAY === "minute" ? 60_000 : times.leaseMs + times.lockTtlMs;

const failures = (lines: readonly string[]) => lines.filter((line) => line.startsWith("failed "));

test(`the coordinator is away for ${awayMs} ms: who needs it waits or is told so by name, and goes on by itself`, async () => {
  await using cluster = await ProcessCluster.start({ coordinators: 1, members: 2 });
  await cluster.goesOn(5);
  const leader = await cluster.leader();
  await leader.process.kill();
  await pause(awayMs / 2);
  const before = cluster.members.map(({ told }) => told.length);
  await pause(awayMs / 2);
  // Without timestamps nobody commits; nobody ends, and nobody is told anything that has no name.
  expect(cluster.members.map(({ told }) => told.length)).toEqual(before);
  await cluster.replace();
  await cluster.goesOn(5);
  const codes = new Set(cluster.members.flatMap(({ process }) => failures(process.lines)));
  const named = ["ORACLE_UNAVAILABLE", "COMMIT_OUTCOME_UNKNOWN", "CONFLICT", "TIMEOUT"];
  for (const code of codes) expect(named.map((name) => `failed ${name}`)).toContain(code);
  expect(await cluster.verify()).toBeGreaterThan(0);
  await cluster.end();
}, 300_000);
