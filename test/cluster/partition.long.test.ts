import { expect, test } from "vitest";
import { NetworkNamespace, obstacleToNamespaces, untested } from "../support/namespace/index.js";
import { pause } from "../support/waiting.js";
import { ProcessCluster } from "./cluster.js";
import { times } from "./members.js";

test("a worker in a separate network is cut off from the store and from the coordinator, and returns", async () => {
  const obstacle = await obstacleToNamespaces();
  if (obstacle !== undefined) return untested(obstacle);
  await using namespace = await NetworkNamespace.create();
  await using cluster = await ProcessCluster.start({ coordinators: 1, members: 1 });
  const { address: coordinator } = await cluster.leader();
  const far = await cluster.addMember({ namespace, coordinator });
  await far.ready();
  await cluster.goesOn(5);
  await namespace.disconnect();
  const before = far.told.length;
  await cluster.goesOn(10, [cluster.members[0]!]);
  await pause(times.deadlineMs + times.lockTtlMs);
  // Each writer may still confirm one operation that was committed before the partition, but
  // nothing more.
  const told = far.told.length;
  expect(told - before).toBeLessThanOrEqual(far.writing);
  expect(far.process.hasEnded).toBe(false);
  await namespace.connect();
  await cluster.goesOn(5);
  expect(await cluster.verify()).toBeGreaterThan(told);
  await cluster.end();
}, 300_000);
