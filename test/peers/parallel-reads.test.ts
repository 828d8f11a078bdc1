import { Pause } from "percolatordb/testing";
import { describe, expect, test } from "vitest";
import { accounts } from "./bank.js";
import { Cluster, collected, diesAfter, lockTtlMs, type Member, twoPhase } from "./cluster.js";

/**
 * Every kind of read meets many locks at once. It rolls the locks of a committed transaction
 * forward. It rolls back those of an owner that died before its commit point. No lock is left on
 * the cells that were read.
 */

const rows = Array.from({ length: 20 }, (_, index) => `row${index + 10}`);
const undone = rows.slice(0, 8);
const done = rows.slice(8, 16);
const expected = rows.map((row, index) => (done.includes(row) ? 1_000 + index : index));

const readers: Record<string, (member: Member) => Promise<(number | undefined)[]>> = {
  async "one get of many rows"({ db }) {
    await using snapshot = await db.snapshot();
    return await snapshot.getMany(accounts.balance, rows);
  },
  async "many gets at once"({ db }) {
    await using snapshot = await db.snapshot();
    return await Promise.all(rows.map((row) => snapshot.get(accounts.balance, row)));
  },
  async "whole rows at once"({ db }) {
    await using snapshot = await db.snapshot();
    return (await Promise.all(rows.map((row) => snapshot.row(accounts, row)))).map((row) => row?.balance);
  },
  async "a scan of the column"({ db }) {
    await using snapshot = await db.snapshot();
    return (await collected(snapshot.scan(accounts.balance))).map(({ value }) => value);
  },
  async "a scan backwards"({ db }) {
    await using snapshot = await db.snapshot();
    return (await collected(snapshot.scan(accounts.balance, { reverse: true })))
      .map(({ value }) => value)
      .reverse();
  },
  async "a scan of the table"({ db }) {
    await using snapshot = await db.snapshot();
    return (await collected(snapshot.scan(accounts))).map(({ value }) => value.balance);
  },
  async "a transaction that writes what it read"({ db }) {
    return await db.transact(async (tx) => {
      const found = await tx.getMany(accounts.balance, rows);
      for (const [index, row] of rows.entries()) tx.set(accounts.balance, row, found[index]!);
      return found;
    });
  },
};

/**
 * Starts a process that writes some rows in one transaction and dies while it holds locks. If
 * `committed`, it dies just after its commit point, otherwise before it. Returns the dead process.
 */
async function leaveLocks(cluster: Cluster, written: readonly string[], committed: boolean): Promise<Member> {
  const owner = await cluster.join();
  owner.hooks.once(committed ? "commit-primary" : "commit-timestamp", diesAfter(owner));
  void owner.db.transact((tx) => {
    for (const row of written) tx.set(accounts.balance, row, 1_000 + rows.indexOf(row));
  });
  while (!owner.environment.isDead) await cluster.clock.settle();
  return owner;
}

async function start(variant: (typeof twoPhase)[number]): Promise<{ cluster: Cluster; reader: Member }> {
  const cluster = await Cluster.start(variant);
  const reader = await cluster.join({ tables: [accounts] });
  await reader.db.transact((tx) => {
    for (const [index, row] of rows.entries()) tx.set(accounts.balance, row, index);
  });
  return { cluster, reader };
}

describe.each(twoPhase)("$store, commit $commit", (variant) => {
  test.each(Object.keys(readers))("meets locks in both states: %s", async (name) => {
    const { cluster, reader } = await start(variant);
    await using _ = cluster;
    await leaveLocks(cluster, undone, false);
    await leaveLocks(cluster, done, true);
    expect((await collected(reader.db.locks())).length).toBe(undone.length + done.length - 1);
    await cluster.clock.advance(2 * lockTtlMs);
    expect(await readers[name]!(reader)).toEqual(expected);
    await cluster.expectClean(reader.db);
    const { locksResolved } = reader.db.metrics;
    expect(locksResolved["rolled-forward"]).toBe(done.length - 1);
    expect(locksResolved["rolled-back"]).toBeGreaterThanOrEqual(undone.length - 1);
    expect(await readers[name]!(reader)).toEqual(expected);
  });

  test.each(Object.keys(readers).slice(0, -1))(
    "while the dead owner's lock lives, no read waits and the answers are the same: %s",
    async (name) => {
      const { cluster, reader } = await start(variant);
      await using _ = cluster;
      await leaveLocks(cluster, undone, false);
      await leaveLocks(cluster, done, true);
      const startedAt = cluster.clock.passedMs;
      expect(await readers[name]!(reader)).toEqual(expected);
      expect(cluster.clock.passedMs - startedAt).toBeLessThan(1_000);
      expect(reader.db.metrics.locksResolved.pushed).toBe(1);
    },
  );

  test("many readers that meet the same locks at once agree", async () => {
    const { cluster, reader } = await start(variant);
    await using _ = cluster;
    const others = [reader, await cluster.join(), await cluster.join()];
    await leaveLocks(cluster, undone, false);
    await leaveLocks(cluster, done, true);
    await cluster.clock.advance(2 * lockTtlMs);
    const answers = await Promise.all(
      Object.values(readers)
        .slice(0, -1)
        .flatMap((read) => others.map((other) => read(other))),
    );
    for (const answer of answers) expect(answer).toEqual(expected);
    await cluster.expectClean(reader.db);
  });

  test("while the owner itself rolls its secondaries forward", async () => {
    const { cluster, reader } = await start(variant);
    await using _ = cluster;
    const owner = await cluster.join();
    const pauses = done.slice(1).map(() => new Pause());
    for (const pause of pauses) owner.hooks.once("commit-secondary", pause.before);
    await owner.db.transact((tx) => {
      for (const row of done) tx.set(accounts.balance, row, 1_000 + rows.indexOf(row));
    });
    const reading = readers["many gets at once"]!(reader);
    for (const pause of pauses) pause.resume();
    expect(await reading).toEqual(expected);
    await cluster.expectClean(reader.db);
    for (const row of done) expect((await reader.db.history(accounts.balance, row)).length).toBe(2);
  });

  test("absent cells stay absent, and results come in the order of the request", async () => {
    const { cluster, reader } = await start(variant);
    await using _ = cluster;
    await leaveLocks(cluster, ["row10", "nowhere"], false);
    await cluster.clock.advance(2 * lockTtlMs);
    await using snapshot = await reader.db.snapshot();
    const asked = ["row12", "nowhere", "row10", "elsewhere", "row12"];
    expect(await snapshot.getMany(accounts.balance, asked)).toEqual([2, undefined, 0, undefined, 2]);
    await cluster.expectClean(reader.db);
  });
});
