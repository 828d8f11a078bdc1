import { expect, test } from "vitest";
import { patienceMs, pause } from "../support/waiting.js";
import { ProcessCluster } from "./cluster.js";
import { times } from "./members.js";

/** A minute, where that is asked for; else longer than a lease and than locks live. */
const awayMs = process.env.PERCOLATOR_AWAY === "minute" ? 60_000 : times.leaseMs + times.lockTtlMs;

const failures = (lines: readonly string[]) => lines.filter((line) => line.startsWith("failed "));

test(`the coordinator is away for ${awayMs} ms: who needs it waits or is told so by name, and goes on by itself`, async () => {
  await using cluster = await ProcessCluster.start({ coordinators: 1, members: 0 });
  // Nothing is wrong with the store: however slow the machine is, no member is to be told that there was.
  const deadlineMs = patienceMs / 2;
  for (let count = 0; count < 2; count++) await (await cluster.addMember({ deadlineMs })).ready();
  await cluster.goesOn(5);
  const leader = await cluster.leader();
  await leader.process.kill();
  const before = cluster.members.map(({ told }) => told.length);
  await pause(awayMs);
  // Without timestamps nobody commits, but for what had its own already; nobody ends, and nobody is told anything that has no name.
  for (const [index, { told, writing, name }] of cluster.members.entries()) {
    expect(told.length - before[index]!, name).toBeLessThanOrEqual(writing);
  }
  await cluster.replace();
  await cluster.goesOn(5);
  const codes = new Set(cluster.members.flatMap(({ process }) => failures(process.lines)));
  const named = ["ORACLE_UNAVAILABLE", "COMMIT_OUTCOME_UNKNOWN", "CONFLICT", "TIMEOUT"];
  for (const code of codes) expect(named.map((name) => `failed ${name}`)).toContain(code);
  expect(await cluster.verify()).toBeGreaterThan(0);
  await cluster.end();
}, 300_000);
