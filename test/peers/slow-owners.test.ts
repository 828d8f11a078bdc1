import { Pause } from "percolatordb/testing";
import { describe, expect, test } from "vitest";
import { accounts } from "./bank.js";
import { casesOn, lockTtlMs, type Member, outcomeOf, twoPhase } from "./cluster.js";
import {
  expectSettled,
  interfere,
  isCommitted,
  type Point,
  points,
  readBoth,
  startWith,
  writeBoth,
} from "./failures.js";

/**
 * A process is slow at a step of its commit, for longer than a lock lasts. One that lives is pushed by readers and commits
 * above them; one that shows no sign of life is rolled back, and can not commit when it goes on.
 */

const cases = points.flatMap((point) =>
  (["before", "after"] as const).map((when) => ({ point, name: point.name, when })),
);

/** Without its primary's lock nobody can see that a transaction lives. */
function isVisible({ name }: Point, when: "before" | "after"): boolean {
  return name !== "the primary's prewrite" || when === "after";
}

async function stopAt(owner: Member, point: Point, when: "before" | "after"): Promise<Pause> {
  const pause = new Pause();
  interfere(owner, point, pause[when]);
  return pause;
}

describe.each(twoPhase)("$store, commit $commit: a process that lives is slow", (variant) => {
  test.each(casesOn(variant, cases))(
    "$when $name: readers see one state, and it commits above them",
    async ({ point, when }) => {
      const { cluster, owner, other } = await startWith(variant);
      await using _ = cluster;
      const pause = await stopAt(owner, point, when);
      const committing = outcomeOf(writeBoth(owner, point.isolation));
      await pause.reached;
      const left = isCommitted(point, when) ? [11, 12] : [1, 2];
      await using reader = await other.db.snapshot();
      const read = () => reader.getMany(accounts.balance, ["alice", "bob"]);
      const startedAt = cluster.clock.passedMs;
      expect(await read()).toEqual(left);
      // Nobody who reads waits for an owner that can be seen to live.
      if (isVisible(point, when)) expect(cluster.clock.passedMs - startedAt).toBeLessThan(1_000);
      await cluster.clock.advance(4 * lockTtlMs);
      expect(await readBoth(other)).toEqual(left);
      await other.db.drain();
      pause.resume();
      const commits = isVisible(point, when);
      expect(await committing).toBe(commits ? "committed" : "CONFLICT");
      await cluster.clock.settle();
      expect(await read()).toEqual(left);
      await expectSettled(cluster, other, commits ? [11, 12] : [1, 2]);
    },
  );

  test.each(casesOn(variant, cases))(
    "$when $name: a blind writer conflicts, and succeeds when it is over",
    async ({ point, when }) => {
      const { cluster, owner, other } = await startWith(variant);
      await using _ = cluster;
      const pause = await stopAt(owner, point, when);
      const committing = outcomeOf(writeBoth(owner, point.isolation));
      await pause.reached;
      await cluster.clock.settle();
      const writeBob = () => other.db.transact((tx) => tx.set(accounts.balance, "bob", 60), { retries: 2 });
      const isOver = isCommitted(point, when);
      // Before the secondary's own prewrite there is nothing in the way.
      const isFree = point.name === "the secondary's prewrite" && when === "before";
      const first = await outcomeOf(writeBob());
      expect(first).toBe(isOver || isFree ? "committed" : "CONFLICT");
      pause.resume();
      expect(await committing).toBe(isFree ? "CONFLICT" : "committed");
      if (first !== "committed") await writeBob();
      await expectSettled(cluster, other, [isFree ? 1 : 11, 60]);
    },
  );
});

describe.each(twoPhase)("$store, commit $commit: a process is suspended past its lock's time", (variant) => {
  test.each(casesOn(variant, cases))(
    "$when $name: it is rolled back, and can not commit afterwards",
    async ({ point, when }) => {
      const { cluster, owner, other } = await startWith(variant);
      await using _ = cluster;
      const pause = await stopAt(owner, point, when);
      const committing = outcomeOf(writeBoth(owner, point.isolation));
      await pause.reached;
      await cluster.clock.settle();
      owner.environment.suspend();
      await cluster.clock.advance(2 * lockTtlMs);
      const left = isCommitted(point, when) ? [11, 12] : [1, 2];
      expect(await readBoth(other)).toEqual(left);
      await other.db.transact((tx) => tx.set(accounts.balance, "carol", 30));
      pause.resume();
      owner.environment.resume();
      expect(await committing).toBe(isCommitted(point, when) ? "committed" : "CONFLICT");
      expect(await readBoth(owner)).toEqual(left);
      await expectSettled(cluster, other, left);
    },
  );
});
