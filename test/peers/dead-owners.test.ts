import { describe, expect, test } from "vitest";
import { accounts } from "./bank.js";
import { casesOn, dies, diesAfter, lockTtlMs, type Member, twoPhase } from "./cluster.js";
import {
  copied,
  expectSettled,
  interfere,
  isCommitted,
  points,
  readBoth,
  startWith,
  writeBoth,
} from "./failures.js";

/**
 * A process dies before or after each step of its commit. The next process finds all of the
 * transaction or nothing of it, depending on the state of its primary, and removes what was left.
 */

/**
 * The operations that meet the dead transaction. Each returns the balances that should hold
 * afterwards, given those that the transaction left.
 */
const finders: Record<string, (other: Member, left: readonly number[]) => Promise<readonly number[]>> = {
  async "a reader"(other, left) {
    expect(await readBoth(other)).toEqual(left);
    return left;
  },
  async "a scan"({ db }, left) {
    await using snapshot = await db.snapshot();
    const seen: number[] = [];
    for await (const { value } of snapshot.scan(accounts.balance, { end: "carol" })) seen.push(value);
    expect(seen).toEqual(left);
    return left;
  },
  async "who asks for the histories"({ db }, left) {
    const histories = ["alice", "bob"].map(
      async (row) => (await db.history(accounts.balance, row))[0]!.value,
    );
    expect(await Promise.all(histories)).toEqual(left);
    return left;
  },
  async "a writer that reads"({ db }, left) {
    const [alice, bob] = await db.transact(async (tx) => {
      const read = await tx.getMany(accounts.balance, ["alice", "bob"]);
      tx.set(accounts.balance, "bob", read[1]! + 100);
      return read;
    });
    expect([alice, bob]).toEqual(left);
    return [left[0]!, left[1]! + 100];
  },
  async "a blind writer of the primary"({ db }, left) {
    await db.transact((tx) => tx.set(accounts.balance, "alice", 50));
    return [50, left[1]!];
  },
  async "a blind writer of the secondary"({ db }, left) {
    await db.transact((tx) => tx.set(accounts.balance, "bob", 60));
    return [left[0]!, 60];
  },
  async "who drains"({ db }, left) {
    await db.drain();
    return left;
  },
  async "a collection"({ db }, left) {
    await db.collect({ retentionMs: 0 });
    return left;
  },
};

const cases = points.flatMap((point) =>
  (["before", "after"] as const).flatMap((when) =>
    Object.keys(finders).map((finder) => ({ point, name: point.name, when, finder })),
  ),
);

const waits = [
  { found: "at once", waitMs: 0 },
  { found: "when its lock has run out", waitMs: 2 * lockTtlMs },
];

describe.each(twoPhase)("$store, commit $commit: a process dies", (variant) => {
  describe.each(waits)("found $found", ({ waitMs }) => {
    test.each(casesOn(variant, cases))("$when $name: $finder", async ({ point, when, finder }) => {
      const { cluster, owner, other } = await startWith(variant);
      await using _ = cluster;
      const before = copied(other);
      interfere(owner, point, when === "before" ? dies(owner) : diesAfter(owner));
      void writeBoth(owner, point.isolation);
      while (!owner.environment.isDead) await cluster.clock.settle();
      await cluster.clock.advance(waitMs);
      const committed = isCommitted(point, when);
      const left = committed ? [11, 12] : [1, 2];
      const balances = await finders[finder]!(other, left);
      expect(await readBoth(other)).toEqual(balances);
      // Locks that a read passed over are removed when their time to live is over.
      await cluster.clock.advance(2 * lockTtlMs);
      await readBoth(other);
      await expectSettled(cluster, other, balances);
      const written = balances.filter((value, index) => value !== left[index]).length;
      const most = (committed ? 2 : 0) + written;
      expect(copied(other) - before).toBeLessThanOrEqual(most);
      if (written === 0) expect(copied(other) - before).toBe(most);
    });
  });
});
