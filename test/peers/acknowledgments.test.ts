import { observer, table, text } from "percolatordb";
import { Pause } from "percolatordb/testing";
import { describe, expect, test } from "vitest";
import { Cluster, dies, diesAfter, type Member, outcomeOf, twoPhase, variants } from "./cluster.js";

/**
 * One change triggers several transactions, and one of them commits. The others find the change
 * acknowledged. Writing the cell again makes it due once more, and only once.
 */

const pages = table("pages", { url: text(), title: text(), log: text() });

/** Adds its process's name to the row's log, each time that it commits. */
function logging(name: string, gate: () => Promise<void> = async () => {}) {
  return observer("log", pages.url, async (tx, { row, value }) => {
    const log = (await tx.get(pages.log, row)) ?? "";
    await gate();
    tx.set(pages.log, row, `${log}${name}=${value};`);
  });
}

async function log({ db }: Member, row = "page"): Promise<string | undefined> {
  await using snapshot = await db.snapshot();
  return await snapshot.get(pages.log, row);
}

async function write({ db }: Member, url: string, row = "page"): Promise<void> {
  await db.transact((tx) => tx.set(pages.url, row, url));
}

/**
 * Longer than the five seconds without a heartbeat after which other processes consider a session
 * dead.
 */
const sessionMs = 10_000;

describe.each(variants)("$store, commit $commit", (variant) => {
  test("of three processes that run one change at once, one commits", async () => {
    await using cluster = await Cluster.start(variant);
    const pauses = [new Pause(), new Pause()];
    let first = 0;
    const slow: Member[] = [];
    for (const pause of pauses) {
      let runs = 0;
      const gate = () => (runs++ === 0 ? pause.here() : Promise.resolve());
      slow.push(await cluster.join({ observers: [logging(`slow${++first}`, gate)] }));
    }
    await write(slow[0]!, "a");
    // Each process takes over the change when it considers the previous process dead. None has
    // committed yet.
    for (const [index, { db, environment }] of slow.entries()) {
      db.work();
      await pauses[index]!.reached;
      environment.suspend();
      await cluster.clock.advance(sessionMs);
    }
    const third = await cluster.join({ observers: [logging("third")] });
    await third.db.drain();
    expect(await log(third)).toBe("third=a;");
    for (const [index, { environment }] of slow.entries()) {
      pauses[index]!.resume();
      environment.resume();
    }
    for (const { db } of slow) await db.idle();
    await third.db.drain();
    expect(await log(third)).toBe("third=a;");
    for (const { db } of slow) {
      const { runs } = db.metrics.observers.log!;
      expect([runs.committed, runs.conflict > 0]).toEqual([0, true]);
    }

    await write(third, "b");
    await third.db.drain();
    expect((await log(third))!.match(/=b;/g)).toHaveLength(1);
    await cluster.expectClean(third.db);
  });

  test("several changes before a run cause one run; a later write causes one more, even of the same value", async () => {
    await using cluster = await Cluster.start(variant);
    const loader = await cluster.join();
    const worker = await cluster.join({ observers: [logging("w")] });
    await write(loader, "a");
    await write(loader, "b");
    await worker.db.drain();
    expect(await log(worker)).toBe("w=b;");
    await worker.db.drain();
    await write(loader, "b");
    await worker.db.drain();
    await worker.db.drain();
    expect(await log(worker)).toBe("w=b;w=b;");
    expect(worker.db.metrics.observers.log!.runs).toMatchObject({ committed: 2, failed: 0 });
    await cluster.expectClean(worker.db);
  });

  test("a write during the run is a separate change: both are handled, and nothing runs a third time", async () => {
    await using cluster = await Cluster.start(variant);
    const loader = await cluster.join();
    const pause = new Pause();
    let runs = 0;
    const gate = () => (runs++ === 0 ? pause.here() : Promise.resolve());
    const worker = await cluster.join({ observers: [logging("w", gate)] });
    await write(loader, "a");
    const draining = worker.db.drain();
    await pause.reached;
    await write(loader, "b");
    pause.resume();
    await draining;
    expect(await log(worker)).toBe("w=a;w=b;");
    await cluster.expectClean(worker.db);
  });

  test("an observer that writes the column it watches conflicts with another run that has acknowledged the change", async () => {
    await using cluster = await Cluster.start(variant);
    const pause = new Pause();
    const writer = observer("log", pages.url, async (tx, { row, value }) => {
      await pause.here();
      tx.set(pages.url, row, `${value}, rewritten`);
    });
    const slow = await cluster.join({ observers: [writer] });
    await write(slow, "a");
    const worker = slow.db.work();
    await pause.reached;
    slow.environment.suspend();
    await cluster.clock.advance(sessionMs);
    const other = await cluster.join({ observers: [logging("other")] });
    await other.db.drain();
    pause.resume();
    slow.environment.resume();
    await worker.stop();
    await other.db.drain();
    await using snapshot = await other.db.snapshot();
    expect(await snapshot.row(pages, "page")).toEqual({ url: "a", log: "other=a;" });
    await cluster.expectClean(other.db);
  });

  test("two observers of one column acknowledge changes independently", async () => {
    await using cluster = await Cluster.start(variant);
    const titles = observer("titles", pages.url, (tx, { row, value }) =>
      tx.set(pages.title, row, `<${value}>`),
    );
    const logger = await cluster.join({ observers: [logging("w")] });
    const titler = await cluster.join({ observers: [titles] });
    await write(logger, "a");
    const left = [];
    for await (const { observer } of logger.db.pending()) left.push(observer);
    expect(left.sort()).toEqual(["log", "titles"]);
    expect(await outcomeOf(logger.db.drain())).toBe("OBSERVER");
    expect(await log(logger)).toBe("w=a;");
    await titler.db.drain();
    await using snapshot = await titler.db.snapshot();
    expect(await snapshot.row(pages, "page")).toEqual({ url: "a", log: "w=a;", title: "<a>" });
    await cluster.expectClean(titler.db);
  });
});

describe.each(twoPhase)("$store, commit $commit: a worker dies while it commits", (variant) => {
  test.each([
    { name: "before its prewrites", step: "prewrite", how: dies, expected: "other=a;" },
    { name: "before its commit point", step: "commit-primary", how: dies, expected: "other=a;" },
    { name: "after its commit point", step: "commit-primary", how: diesAfter, expected: "dead=a;" },
  ] as const)("$name: the change is handled once", async ({ step, how, expected }) => {
    await using cluster = await Cluster.start(variant);
    const loader = await cluster.join();
    const dead = await cluster.join({ observers: [logging("dead")] });
    await write(loader, "a");
    dead.hooks.once(step, how(dead));
    dead.db.work();
    while (!dead.environment.isDead) await cluster.clock.advance(100);
    const other = await cluster.join({ observers: [logging("other")] });
    await cluster.clock.advance(sessionMs);
    await other.db.drain();
    expect(await log(other)).toBe(expected);
    await cluster.expectClean(other.db);
  });

  test("a change whose writer dies after its commit point is rolled forward and handled, in every row", async () => {
    await using cluster = await Cluster.start(variant);
    const other = await cluster.join({ observers: [logging("w")] });
    const writer = await cluster.join();
    writer.hooks.once("commit-primary", diesAfter(writer));
    void writer.db.transact((tx) => {
      for (const row of ["x", "y", "z"]) tx.set(pages.url, row, row);
    });
    while (!writer.environment.isDead) await cluster.clock.settle();
    await other.db.drain();
    expect([await log(other, "x"), await log(other, "y"), await log(other, "z")]).toEqual([
      "w=x;",
      "w=y;",
      "w=z;",
    ]);
    await cluster.expectClean(other.db);
  });
});
