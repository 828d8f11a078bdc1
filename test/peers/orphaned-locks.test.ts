import { Pause, passes } from "percolatordb/testing";
import { describe, expect, test } from "vitest";
import { accounts } from "./bank.js";
import { collected, dies, lockTtlMs, outcomeOf, twoPhase } from "./cluster.js";
import { expectSettled, readBoth, startWith, writeBoth } from "./failures.js";

/**
 * Blind writes that meet the locks of a dead owner, locks without their primary, and rollbacks that
 * leave a ROLLBACK status.
 */

describe.each(twoPhase)("$store, commit $commit", (variant) => {
  test.each([{ rows: ["alice"] }, { rows: ["bob"] }, { rows: ["alice", "bob"] }, { rows: ["bob", "zoe"] }])(
    "a blind write of $rows gets through, and rolls back the locks that it meets",
    async ({ rows }) => {
      const { cluster, owner, other } = await startWith(variant);
      await using _ = cluster;
      owner.hooks.once("commit-timestamp", dies(owner));
      void writeBoth(owner);
      while (!owner.environment.isDead) await cluster.clock.settle();
      await other.db.transact((tx) => {
        for (const row of rows) tx.set(accounts.balance, row, 70);
      });
      expect(await readBoth(other)).toEqual(
        ["alice", "bob"].map((row, i) => (rows.includes(row) ? 70 : i + 1)),
      );
      await expectSettled(cluster, other, (await readBoth(other)) as number[]);
    },
  );

  test("a blind write that may not wait fails with a conflict that names the owner", async () => {
    const { cluster, owner, other } = await startWith(variant);
    await using _ = cluster;
    owner.hooks.once("commit-timestamp", dies(owner));
    void writeBoth(owner);
    while (!owner.environment.isDead) await cluster.clock.settle();
    const [lock] = await collected(other.db.locks());
    const writing = other.db.transact((tx) => tx.set(accounts.balance, "bob", 70), { retries: 0 });
    await expect(writing).rejects.toMatchObject({
      code: "CONFLICT",
      row: "bob",
      winnerTimestamp: lock!.startTimestamp,
    });
    await cluster.clock.advance(2 * lockTtlMs);
    await expectSettled(cluster, other, [1, 2]);
  });

  test("two blind writes that meet the same locks both get through", async () => {
    const { cluster, owner, other } = await startWith(variant);
    await using _ = cluster;
    const third = await cluster.join();
    owner.hooks.once("commit-timestamp", dies(owner));
    void writeBoth(owner);
    while (!owner.environment.isDead) await cluster.clock.settle();
    await Promise.all([
      other.db.transact((tx) => {
        tx.set(accounts.balance, "alice", 70);
        tx.set(accounts.balance, "bob", 71);
      }),
      third.db.transact((tx) => {
        tx.set(accounts.balance, "bob", 81);
        tx.set(accounts.balance, "alice", 80);
      }),
    ]);
    const found = await readBoth(third);
    expect([
      [70, 71],
      [80, 81],
    ]).toContainEqual(found);
    await expectSettled(cluster, other, found as number[]);
  });

  test("a secondary's lock without its primary is waited for while it is young, then fenced", async () => {
    const { cluster, owner, other } = await startWith(variant);
    await using _ = cluster;
    const pause = new Pause();
    owner.hooks.once("prewrite", pause.before);
    const committing = outcomeOf(writeBoth(owner));
    await pause.reached;
    await cluster.clock.settle();
    const locks = await collected(other.db.locks());
    expect(locks.map(({ isPrimary }) => isPrimary)).toEqual([false]);
    const startedAt = cluster.clock.passedMs;
    expect(await readBoth(other)).toEqual([1, 2]);
    expect(cluster.clock.passedMs - startedAt).toBeGreaterThan(lockTtlMs);
    expect(other.hooks.count("fence-primary")).toBe(1);
    // The primary's prewrite was only slow. It finds the ROLLBACK status.
    pause.resume();
    expect(await committing).toBe("CONFLICT");
    expect(await collected(other.db.locks())).toEqual([]);
    await expectSettled(cluster, other, [1, 2]);
  });

  test("a transaction that rolls itself back leaves a mark on its primary only", async () => {
    const { cluster, owner, other } = await startWith(variant);
    await using _ = cluster;
    const tx = await owner.db.begin();
    tx.set(accounts.balance, "alice", 11);
    tx.set(accounts.balance, "bob", 12);
    await other.db.transact((writer) => writer.set(accounts.balance, "bob", 60));
    expect(await outcomeOf(tx.commit())).toBe("CONFLICT");
    const statuses = async (row: string) => {
      const columns = await other.db.inspect(accounts, row);
      const found = columns.flatMap((column) => column.statuses);
      return found.filter(({ startTimestamp }) => startTimestamp === tx.startTimestamp);
    };
    await cluster.clock.settle();
    expect((await statuses("alice")).map(({ status }) => status)).toEqual([{ outcome: "rolled-back" }]);
    expect(await statuses("bob")).toEqual([]);
    await expectSettled(cluster, other, [1, 60]);
  });

  test.each(["rollback-primary", "rollback-secondary", "roll-forward"] as const)(
    "a process that removes locks dies at %s: the next one finishes",
    async (step) => {
      const { cluster, owner, other } = await startWith(variant);
      await using _ = cluster;
      const committed = step === "roll-forward";
      if (committed) owner.hooks.once("commit-secondary", dies(owner));
      else owner.hooks.once("commit-timestamp", dies(owner));
      void writeBoth(owner);
      while (!owner.environment.isDead) await cluster.clock.settle();
      await cluster.clock.advance(2 * lockTtlMs);
      const helper = await cluster.join();
      helper.hooks.once(step, dies(helper));
      void readBoth(helper);
      while (!helper.environment.isDead) await cluster.clock.settle();
      const left = committed ? [11, 12] : [1, 2];
      expect(await readBoth(other)).toEqual(left);
      await expectSettled(cluster, other, left);
    },
  );

  test("an operator can resolve locks on cells that no transaction reads", async () => {
    const { cluster, owner, other } = await startWith(variant);
    await using _ = cluster;
    owner.hooks.once("prewrite", passes);
    owner.hooks.once("commit-timestamp", dies(owner));
    void writeBoth(owner);
    while (!owner.environment.isDead) await cluster.clock.settle();
    const locks = await collected(other.db.locks());
    expect(await other.db.resolve(locks[1]!)).toBe("standing");
    await cluster.clock.advance(2 * lockTtlMs);
    for (const lock of locks) expect(await other.db.resolve(lock)).toBe("gone");
    for (const wrong of [{}, { cell: {} }, { ...locks[0], primary: undefined }, undefined]) {
      await expect(other.db.resolve(wrong as never)).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
    }
    expect(await collected(other.db.locks())).toEqual([]);
    await expectSettled(cluster, other, [1, 2]);
  });
});
