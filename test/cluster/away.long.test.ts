import { expect, test } from "vitest";
import { patienceMs, pause } from "../support/waiting.js";
import { ProcessCluster } from "./cluster.js";
import { times } from "./members.js";

/**
 * How long the cluster has no coordinator: a minute if `PERCOLATOR_AWAY` is `minute`, otherwise the
 * time of a lease plus the time to live of a lock.
 */
const awayMs = process.env.PERCOLATOR_AWAY === "minute" ? 60_000 : times.leaseMs + times.lockTtlMs;

const failures = (lines: readonly string[]) => lines.filter((line) => line.startsWith("failed "));

test(`the coordinator is away for ${awayMs} ms: callers wait or get a named error, and continue by themselves`, async () => {
  await using cluster = await ProcessCluster.start({ coordinators: 1, members: 0 });
  // The store works all the time. The deadline is long, so that a slow machine does not cause
  // errors of the store.
  const deadlineMs = patienceMs / 2;
  for (let count = 0; count < 2; count++) await (await cluster.addMember({ deadlineMs })).ready();
  await cluster.goesOn(5);
  const leader = await cluster.leader();
  await leader.process.kill();
  const before = cluster.members.map(({ told }) => told.length);
  await pause(awayMs);
  // Without a coordinator there are no new timestamps. So only a transaction that already has its
  // timestamps can commit: at most one for each concurrent operation.
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
