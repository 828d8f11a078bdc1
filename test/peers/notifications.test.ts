import { family, int, type Observer, observer, signal, type Transaction, table } from "percolatordb";
import { Pause } from "percolatordb/testing";
import { describe, expect, test } from "vitest";
import { Cluster, casesOn, collected, type Member, outcomeOf, twoPhase, variants } from "./cluster.js";

/**
 * Lets a run and a commit overlap in every possible way, and counts the hints, for a signal and for
 * a column. A hint is stored at its transaction's commit timestamp. Only a run that started at or
 * above that timestamp removes the hint.
 */

const stats = table("stats", {
  total: int(),
  processed: int(),
  parts: family(int()),
  changed: signal(),
});

async function add(tx: Transaction, row: string, column: typeof stats.total, amount: number): Promise<void> {
  tx.set(column, row, ((await tx.get(column, row)) ?? 0) + amount);
}

/** Adds the growth of a row's total since the last run to the sum of all. */
async function sumUp(tx: Transaction, row: string): Promise<void> {
  if (row === "all") return;
  const [total, processed] = [
    (await tx.get(stats.total, row)) ?? 0,
    (await tx.get(stats.processed, row)) ?? 0,
  ];
  if (total === processed) return;
  tx.set(stats.processed, row, total);
  await add(tx, "all", stats.total, total - processed);
}

type Kind = "signal" | "column";
const kinds = [{ kind: "signal" }, { kind: "column" }] as const;

/** An observer whose nth run, counted from 0, waits at the nth gate before its own first read. */
function summing(kind: Kind, ...gates: (Pause | undefined)[]): Observer {
  let runs = 0;
  const run = async (tx: Transaction, { row }: { row: string }) => {
    if (row === "all") return;
    await gates[runs++]?.here();
    await sumUp(tx, row);
  };
  return kind === "signal" ? observer("sum", stats.changed, run) : observer("sum", stats.total, run);
}

function increment({ db }: Member, kind: Kind): Promise<void> {
  return db.transact(async (tx) => {
    await add(tx, "1", stats.total, 1);
    if (kind === "signal") tx.notify(stats.changed, "1");
  });
}

/** Returns the number of hints of row "1". */
async function hints({ db }: Member): Promise<number> {
  return (await collected(db.pending())).filter(({ row }) => row === "1").length;
}

async function sum({ db }: Member): Promise<number | undefined> {
  await using snapshot = await db.snapshot();
  return await snapshot.get(stats.total, "all");
}

describe.each(variants)("$store, commit $commit", (variant) => {
  describe.each(kinds)("on a $kind", ({ kind }) => {
    test("a run that started before a commit leaves the commit's hint, and the next run removes it", async () => {
      await using cluster = await Cluster.start(variant);
      const [first, second] = [new Pause(), new Pause()];
      const worker = await cluster.join({ observers: [summing(kind, first, second)] });
      const loader = await cluster.join();
      await increment(loader, kind);
      expect(await hints(loader)).toBe(1);
      const draining = worker.db.drain();
      await first.reached;
      await increment(loader, kind);
      expect(await hints(loader)).toBe(1);
      first.resume();
      await second.reached;
      expect(await sum(loader)).toBe(1);
      expect(await hints(loader)).toBe(1);
      second.resume();
      await draining;
      expect(await sum(loader)).toBe(2);
      expect(await hints(loader)).toBe(0);
      await cluster.expectClean(loader.db);
    });

    test("a hint stands at its commit timestamp: a run that began after its transaction started, and before it committed, leaves it", async () => {
      await using cluster = await Cluster.start(variant);
      const [first, second] = [new Pause(), new Pause()];
      const worker = await cluster.join({ observers: [summing(kind, first, second)] });
      const loader = await cluster.join();
      await increment(loader, kind);
      const overlapping = await loader.db.begin();
      await add(overlapping, "1", stats.total, 1);
      if (kind === "signal") overlapping.notify(stats.changed, "1");
      const beforeCommit = new Pause();
      if (cluster.commit === "two-phase") loader.hooks.once("commit-timestamp", beforeCommit.before);
      else loader.hooks.once("one-phase-commit", beforeCommit.before);
      const committing = overlapping.commit();
      await beforeCommit.reached;
      const draining = worker.db.drain();
      await first.reached;
      beforeCommit.resume();
      await committing;
      expect(await hints(loader)).toBe(1);
      first.resume();
      await second.reached;
      expect([await hints(loader), await sum(loader)]).toEqual([1, 1]);
      second.resume();
      await draining;
      expect([await hints(loader), await sum(loader)]).toEqual([0, 2]);
      await cluster.expectClean(loader.db);
    });

    test("the same holds if the run has nothing to do and writes nothing", async () => {
      await using cluster = await Cluster.start(variant);
      const [first, second] = [new Pause(), new Pause()];
      const worker = await cluster.join({ observers: [summing(kind, undefined, first, second)] });
      const loader = await cluster.join();
      await increment(loader, kind);
      await worker.db.drain();
      await loader.db.transact((tx) => {
        tx.delete(stats.total, "1");
        tx.delete(stats.processed, "1");
        if (kind === "signal") tx.notify(stats.changed, "1");
      });
      const draining = worker.db.drain();
      await first.reached;
      await increment(loader, kind);
      first.resume();
      await second.reached;
      expect([await hints(loader), await sum(loader)]).toEqual([1, 1]);
      second.resume();
      await draining;
      expect([await hints(loader), await sum(loader)]).toEqual([0, 2]);
      await cluster.expectClean(loader.db);
    });

    test("several changes before a run are one hint and one run", async () => {
      await using cluster = await Cluster.start(variant);
      const worker = await cluster.join({ observers: [summing(kind)] });
      const loader = await cluster.join();
      for (let times = 0; times < 5; times++) await increment(loader, kind);
      expect(await hints(loader)).toBe(1);
      await worker.db.drain();
      expect([await hints(loader), await sum(loader)]).toEqual([0, 5]);
      const own = kind === "signal" ? 1 : 2;
      expect(worker.db.metrics.observers.sum!.runs.committed).toBe(own);
      await cluster.expectClean(loader.db);
    });

    test("a transaction that is rolled back leaves no hint", async () => {
      await using cluster = await Cluster.start(variant);
      const worker = await cluster.join({ observers: [summing(kind)] });
      const tx = await worker.db.begin();
      await add(tx, "1", stats.total, 1);
      tx.notify(stats.changed, "1");
      await tx.rollback();
      expect(await hints(worker)).toBe(0);
      await worker.db.drain();
      expect(worker.db.metrics.observers.sum).toBeUndefined();
    });
  });

  test("two overlapping transactions can set the same signal: neither fails, and neither signal is lost", async () => {
    await using cluster = await Cluster.start(variant);
    const collecting = observer("collect", stats.changed, async (tx, { row }) => {
      let found = 0;
      for await (const { qualifier, value } of tx.entries(stats.parts, row)) {
        found += value;
        tx.delete(stats.parts.at(qualifier), row);
      }
      if (found > 0) await add(tx, row, stats.total, found);
    });
    const worker = await cluster.join({ observers: [collecting] });
    const loaders = [await cluster.join(), await cluster.join()];
    const step = cluster.commit === "two-phase" ? "commit-primary" : "one-phase-commit";
    const pauses = loaders.map(({ hooks }) => {
      const pause = new Pause();
      hooks.once(step, pause.before);
      return pause;
    });
    const committing = loaders.map(({ db }, index) =>
      outcomeOf(
        db.transact(
          (tx) => {
            tx.set(stats.parts.at(`part${index}`), "1", index === 0 ? 11 : 13);
            tx.notify(stats.changed, "1");
          },
          { retries: 0 },
        ),
      ),
    );
    for (const pause of pauses) await pause.reached;
    for (const pause of pauses.reverse()) pause.resume();
    expect(await Promise.all(committing)).toEqual(["committed", "committed"]);
    await worker.db.drain();
    await using snapshot = await worker.db.snapshot();
    expect(await snapshot.get(stats.total, "1")).toBe(24);
    expect(await collected(snapshot.entries(stats.parts, "1"))).toEqual([]);
    await cluster.expectClean(worker.db);
  });

  test("a signal that many transactions set at once is handled after the last", async () => {
    await using cluster = await Cluster.start(variant);
    let handledAt = 0;
    const watching = observer("watch", stats.changed, (tx) => {
      handledAt = tx.startTimestamp;
    });
    const worker = await cluster.join({ observers: [watching] });
    const loader = await cluster.join();
    const commits = await Promise.all(
      Array.from({ length: 20 }, async () => {
        const tx = await loader.db.begin();
        tx.notify(stats.changed, "1");
        await tx.commit();
        return tx.commitTimestamp!;
      }),
    );
    await worker.db.drain();
    expect(handledAt).toBeGreaterThanOrEqual(Math.max(...commits));
    expect(await hints(worker)).toBe(0);
    await cluster.expectClean(worker.db);
  });
});

describe.each(twoPhase)("$store, commit $commit: a run during a commit", (variant) => {
  const moments = (["prewrite", "commit-timestamp", "hints", "commit-primary"] as const).flatMap((step) =>
    (["before", "after"] as const).map((when) => ({ step, when })),
  );

  const cases = kinds.flatMap((kind) => moments.map((moment) => ({ ...kind, ...moment })));

  test.each(casesOn(variant, cases))(
    "on a $kind: $when $step, the commit's own hint survives a run that started earlier",
    async ({ kind, step, when }) => {
      await using cluster = await Cluster.start(variant);
      const worker = await cluster.join({ observers: [summing(kind)] });
      const loader = await cluster.join();
      await increment(loader, kind);
      const pause = new Pause();
      loader.hooks.once(step, pause[when]);
      const committing = increment(loader, kind);
      await pause.reached;
      // Handles the first commit's hint, and looks at the second's if it is already there.
      await worker.db.drain();
      const isOver = step === "commit-primary" && when === "after";
      expect(await sum(worker)).toBe(isOver ? 2 : 1);
      expect(await hints(worker)).toBe(0);
      pause.resume();
      await committing;
      expect(await hints(worker)).toBe(isOver ? 0 : 1);
      await worker.db.drain();
      expect([await hints(worker), await sum(worker)]).toEqual([0, 2]);
      await cluster.expectClean(worker.db);
    },
  );
});
