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
 * A process takes longer for a step of its commit than a lock lives. If it is alive, readers push
 * its commit timestamp above their snapshots. If it shows no sign of life, its transaction is
 * rolled back and cannot commit later.
 */

const cases = points.flatMap((point) =>
  (["before", "after"] as const).map((when) => ({ point, name: point.name, when })),
);

/** Whether others can see that the transaction is alive. They cannot without its primary's lock. */
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
      // No reader waits for an owner that is visibly alive.
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
    "$when $name: a blind write conflicts, and succeeds after the commit is over",
    async ({ point, when }) => {
      const { cluster, owner, other } = await startWith(variant);
      await using _ = cluster;
      const pause = await stopAt(owner, point, when);
      const committing = outcomeOf(writeBoth(owner, point.isolation));
      await pause.reached;
      await cluster.clock.settle();
      const writeBob = () => other.db.transact((tx) => tx.set(accounts.balance, "bob", 60), { retries: 2 });
      const isOver = isCommitted(point, when);
      // Before the secondary's own prewrite no lock is in the way.
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

describe.each(twoPhase)(
  "$store, commit $commit: a process is suspended for longer than its lock lives",
  (variant) => {
    test.each(casesOn(variant, cases))(
      "$when $name: it is rolled back, and cannot commit afterwards",
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
  },
);
