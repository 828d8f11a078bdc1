import { int, observer, StaleSnapshotError, table, text } from "percolatordb";
import { describe, expect, test } from "vitest";
import { accounts } from "./bank.js";
import {
  Cluster,
  collected,
  dies,
  lockTtlMs,
  type Member,
  outcomeOf,
  twoPhase,
  type Variant,
  variants,
} from "./cluster.js";

/**
 * Reads and commits whose start timestamp falls below the safepoint. They fail with a named error
 * and never show incomplete data. While a process reports an open snapshot, the safepoint stays
 * below it, but only for the retention.
 */

const retentionMs = 60_000;

async function start(variant: Variant): Promise<{ cluster: Cluster; reader: Member; other: Member }> {
  const cluster = await Cluster.start(variant);
  const reader = await cluster.join({ tables: [accounts, notes], retentionMs });
  const other = await cluster.join({ retentionMs });
  await write(other, { bob: 10, jill: 60, joe: 20, john: 3 });
  return { cluster, reader, other };
}

async function write({ db }: Member, balances: Record<string, number>): Promise<void> {
  await db.transact((tx) => {
    for (const [row, balance] of Object.entries(balances)) tx.set(accounts.balance, row, balance);
  });
}

const notes = table("notes", { note: text(), seen: text() });

/** Commits transfers, so that each account has versions that only older snapshots need. */
async function transfers(member: Member): Promise<void> {
  await write(member, { jill: 61, joe: 19 });
  await write(member, { bob: 11, joe: 18 });
  await write(member, { bob: 9, joe: 20 });
  await write(member, { jill: 59, joe: 22 });
}

describe.each(variants)("$store, commit $commit", (variant) => {
  test("an open snapshot holds garbage collection back for the retention, and no longer", async () => {
    const { cluster, reader, other } = await start(variant);
    await using _ = cluster;
    // A store with its own counter gives the snapshot the timestamp of the last commit, which is
    // older than the retention.
    await cluster.clock.advance(3 * retentionMs);
    await using snapshot = await reader.db.snapshot();
    expect(await snapshot.get(accounts.balance, "bob")).toBe(10);
    await transfers(other);
    await cluster.clock.advance(0.8 * retentionMs);
    await transfers(other);
    await cluster.clock.settle();
    const versions = await other.db.history(accounts.balance, "joe");
    expect((await other.db.collect()).safepoint).toBeLessThanOrEqual(snapshot.timestamp);
    expect(await other.db.history(accounts.balance, "joe")).toEqual(versions);
    expect(await snapshot.getMany(accounts.balance, ["bob", "joe", "jill"])).toEqual([10, 20, 60]);
    await cluster.clock.advance(2 * retentionMs);
    expect((await other.db.collect()).safepoint).toBeGreaterThan(snapshot.timestamp);
    await expect(snapshot.get(accounts.balance, "bob")).rejects.toBeInstanceOf(StaleSnapshotError);
    await snapshot.close();
    expect((await other.db.history(accounts.balance, "joe")).length).toBe(1);
    expect(await collected((await other.db.snapshot()).scan(accounts.balance))).toMatchObject([
      { row: "bob", value: 9 },
      { row: "jill", value: 59 },
      { row: "joe", value: 22 },
      { row: "john", value: 3 },
    ]);
    await cluster.expectClean(other.db);
  });

  test("a snapshot whose process was suspended reads no more and fails as stale", async () => {
    const { cluster, reader, other } = await start(variant);
    await using _ = cluster;
    await using snapshot = await reader.db.snapshot();
    const tx = await reader.db.begin();
    const writer = await reader.db.begin();
    expect(await snapshot.get(accounts.balance, "bob")).toBe(10);
    expect(await writer.get(accounts.balance, "john")).toBe(3);
    reader.environment.suspend();
    await transfers(other);
    await cluster.clock.advance(3 * retentionMs);
    expect((await other.db.collect()).versionsDropped).toBeGreaterThan(0);
    reader.environment.resume();
    await expect(snapshot.get(accounts.balance, "joe")).rejects.toBeInstanceOf(StaleSnapshotError);
    await expect(snapshot.getMany(accounts.balance, ["joe", "john"])).rejects.toBeInstanceOf(
      StaleSnapshotError,
    );
    await expect(collected(snapshot.scan(accounts.balance))).rejects.toBeInstanceOf(StaleSnapshotError);
    await expect(tx.row(accounts, "joe")).rejects.toBeInstanceOf(StaleSnapshotError);
    writer.set(accounts.balance, "john", 5);
    expect(await outcomeOf(writer.commit())).toBe("STALE_SNAPSHOT");
    await using now = await reader.db.snapshot();
    expect(await now.getMany(accounts.balance, ["bob", "joe", "jill", "john"])).toEqual([9, 22, 59, 3]);
    await tx.rollback();
    await cluster.expectClean(other.db);
  });

  test("a stale snapshot does not show versions that are kept for an observer's `previous`", async () => {
    await using cluster = await Cluster.start(variant);
    const keeping = observer("keeping", notes.note, (tx, { row, value }) =>
      tx.set(notes.seen, row, value ?? ""),
    );
    const reader = await cluster.join({ observers: [keeping], retentionMs });
    const other = await cluster.join({ observers: [keeping], retentionMs });
    await other.db.transact((tx) => tx.set(notes.note, "row", "seen"));
    await other.db.drain();
    await other.db.transact((tx) => tx.set(notes.note, "row", "read"));
    await using snapshot = await reader.db.snapshot();
    expect(await snapshot.get(notes.note, "row")).toBe("read");
    reader.environment.suspend();
    await other.db.transact((tx) => tx.set(notes.note, "row", "newest"));
    await cluster.clock.advance(3 * retentionMs);
    await other.db.collect();
    const kept = await other.db.history(notes.note, "row");
    expect(kept.map(({ value }) => value)).toEqual(["newest", "seen"]);
    reader.environment.resume();
    await expect(snapshot.get(notes.note, "row")).rejects.toBeInstanceOf(StaleSnapshotError);
    await expect(snapshot.getMany(notes.note, ["row"])).rejects.toBeInstanceOf(StaleSnapshotError);
    await expect(snapshot.row(notes, "row")).rejects.toBeInstanceOf(StaleSnapshotError);
    await expect(collected(snapshot.scan(notes.note))).rejects.toBeInstanceOf(StaleSnapshotError);
  });

  test("a scan that garbage collection overtakes ends with the error, and shows nothing wrong before it", async () => {
    const { cluster, reader, other } = await start(variant);
    await using _ = cluster;
    const rows = Array.from(
      { length: variant.store === "bigtable" ? 1_600 : 3_000 },
      (_, index) => `row${index + 10_000}`,
    );
    await write(other, Object.fromEntries(rows.map((row) => [row, 1])));
    await using snapshot = await reader.db.snapshot();
    let seen = 0;
    const scanning = (async () => {
      for await (const { value } of snapshot.scan(accounts.balance, { prefix: "row" })) {
        expect(value).toBe(1);
        if (++seen !== 500) continue;
        await write(other, Object.fromEntries(rows.map((row) => [row, 2])));
        reader.environment.suspend();
        await cluster.clock.advance(3 * retentionMs);
        await other.db.collect();
        reader.environment.resume();
      }
    })();
    await expect(scanning).rejects.toBeInstanceOf(StaleSnapshotError);
    expect(seen).toBeGreaterThanOrEqual(500);
    expect(seen).toBeLessThan(rows.length);
  });

  test("a scan during a collection that spares its snapshot shows the whole snapshot", async () => {
    const { cluster, reader, other } = await start(variant);
    await using _ = cluster;
    const each = variant.store === "bigtable" ? 500 : 1_000;
    const rows = Array.from({ length: 2.5 * each }, (_, index) => `row${index + 10_000}`);
    await write(other, Object.fromEntries(rows.map((row) => [row, 1])));
    await cluster.clock.advance(3 * retentionMs);
    await using snapshot = await reader.db.snapshot();
    let seen = 0;
    for await (const { value } of snapshot.scan(accounts.balance, { prefix: "row" })) {
      expect(value).toBe(1);
      if (++seen % each !== 0) continue;
      await write(other, Object.fromEntries(rows.map((row) => [row, seen])));
      await cluster.clock.advance(0.4 * retentionMs);
      await other.db.collect();
    }
    expect(seen).toBe(rows.length);
  });

  test("a snapshot of the past is refused below the safepoint, and complete above it", async () => {
    const { cluster, reader, other } = await start(variant);
    await using _ = cluster;
    const { timestamp: old } = await other.db.snapshot().then(async (snapshot) => {
      await snapshot.close();
      return snapshot;
    });
    await transfers(other);
    await cluster.clock.advance(2 * retentionMs);
    const { safepoint } = await other.db.collect();
    await expect(reader.db.snapshot({ at: old })).rejects.toBeInstanceOf(StaleSnapshotError);
    await using oldest = await reader.db.snapshot({ at: safepoint });
    expect(await oldest.getMany(accounts.balance, ["bob", "joe", "jill"])).toEqual([9, 22, 59]);
  });

  test("deletes and rollbacks leave no trace after garbage collection", async () => {
    const { cluster, reader, other } = await start(variant);
    await using _ = cluster;
    await cluster.clock.advance(3 * retentionMs);
    await using keeping = await reader.db.snapshot();
    await other.db.transact((tx) => tx.delete(accounts.balance, "bob"));
    await cluster.clock.advance(0.8 * retentionMs);
    await other.db.collect();
    expect(await keeping.get(accounts.balance, "bob")).toBe(10);
    await keeping.close();
    await cluster.clock.advance(2 * retentionMs);
    await other.db.collect();
    expect(await other.db.inspect(accounts, "bob")).toEqual([]);
    await using now = await reader.db.snapshot();
    expect(await now.get(accounts.balance, "bob")).toBeUndefined();
    await cluster.expectClean(other.db);
  });

  test("a version that an observer needs as its previous value survives garbage collection", async () => {
    await using cluster = await Cluster.start(variant);
    const texts = table("texts", { body: text(), length: int() });
    const seen: (readonly [string | undefined, string | undefined])[] = [];
    const diff = observer("diff", texts.body, (tx, { row, value, previous }) => {
      tx.set(texts.length, row, value?.length ?? 0);
      tx.onCommit(() => seen.push([previous, value]));
    });
    const { db } = await cluster.join({ observers: [diff], retentionMs });
    await db.transact((tx) => tx.set(texts.body, "row", "first"));
    await db.drain();
    await db.transact((tx) => tx.set(texts.body, "row", "second"));
    await db.transact((tx) => tx.set(texts.body, "row", "third"));
    await cluster.clock.advance(2 * retentionMs);
    await db.collect();
    await db.drain();
    expect(seen).toEqual([
      [undefined, "first"],
      ["first", "third"],
    ]);
    await cluster.expectClean(db);
  });
});

describe.each(twoPhase)("$store, commit $commit", (variant) => {
  test("garbage collection rolls back what a dead transaction left in many rows, and removes all of it", async () => {
    const { cluster, reader, other } = await start(variant);
    await using _ = cluster;
    reader.hooks.once("commit-timestamp", dies(reader));
    const long =
      "a note that is too long to stand in a lock, so that it goes into a data cell of its own, ".repeat(3);
    void reader.db.transact((tx) => {
      for (let row = 0; row < 10; row++) tx.set(notes.note, `row${row}`, long);
    });
    while (!reader.environment.isDead) await cluster.clock.settle();
    expect((await collected(other.db.locks())).length).toBe(10);
    // A read rolls the transaction back. A ROLLBACK status stays on the primary.
    await cluster.clock.advance(2 * lockTtlMs);
    await using snapshot = await other.db.snapshot();
    expect(await collected(snapshot.scan(notes.note))).toEqual([]);
    await snapshot.close();
    expect(await collected(other.db.locks())).toEqual([]);
    expect((await other.db.inspect(notes, "row0")).map(({ statuses }) => statuses.length)).toEqual([1]);
    for (let row = 1; row < 10; row++) expect(await other.db.inspect(notes, `row${row}`)).toEqual([]);
    await cluster.clock.advance(3 * retentionMs);
    await other.db.collect();
    expect(await other.db.inspect(notes, "row0")).toEqual([]);
    await cluster.expectClean(other.db);
  });
});
