import { describe, expect, test, vi } from "vitest";
import { countHints, openTest, type TestDatabase } from "../../../test/support/observer/context.js";
import { documents } from "../../../test/support/observer/documents.js";
import { taskFor } from "../../../test/support/observer/task.js";
import { columnPath, definition } from "../../schema/index.js";
import { type CellAddress, check, collect } from "../../transaction/index.js";
import { GiveUp } from "../change.js";
import { StoppedError } from "../hint/failure.js";
import { readHints } from "../hint/hint.js";
import { backfill, type Observer, observer, parkedTable } from "../index.js";
import type { Task } from "../queue/task.js";
import { attempt } from "./attempt.js";
import { park } from "./park.js";

const tables = [documents[definition].name, parkedTable];

function attemptOn(db: TestDatabase, of: Observer, row: string) {
  const task = taskFor(of, row, Number.MAX_SAFE_INTEGER);
  return attempt({ registry: db.registry, task, giveUp: new GiveUp(), onLong: () => {} });
}

function pokeOf(row: string): CellAddress {
  return { table: "documents", row: Buffer.from(row), column: columnPath("poke") };
}

async function write(db: TestDatabase, row: string, value: string | undefined): Promise<void> {
  await db.transact((tx) => {
    if (value === undefined) tx.delete(documents.contents, row);
    else tx.set(documents.contents, row, value);
  });
}

describe.each(["one-phase", "two-phase"] as const)("an attempt, committing in %s", (commit) => {
  test("leaves a hint to a newer version, however old its view of the registry is", async () => {
    const make = (version: number) => observer("versioned", documents.contents, () => {}, { version });
    const old = await openTest({ commit, observers: [make(1)] });
    await write(old, "a", "x");
    expect((await attemptOn(old, make(1), "a")).outcome).toBe("committed");
    const db = await openTest({ commit, store: old.store, observers: [make(2)] });
    await backfill(db.registry, "versioned");
    expect((await attemptOn(old, make(1), "a")).outcome).toBe("left");
    expect(await countHints(db.store)).toEqual({ versioned: 1 });
    expect((await attemptOn(db, make(2), "a")).outcome).toBe("committed");
    expect((await attemptOn(db, make(2), "a")).outcome).toBe("clean");
    expect(await countHints(db.store)).toEqual({});
  });

  test("two attempts at one change: one commits, and the other finds it handled", async () => {
    const seen: string[] = [];
    const counting = observer("counting", documents.contents, async (_tx, { row }) => {
      seen.push(row);
      await new Promise((resolve) => setImmediate(resolve));
    });
    const db = await openTest({ commit, observers: [counting] });
    await write(db, "a", "x");
    const both = await Promise.all([attemptOn(db, counting, "a"), attemptOn(db, counting, "a")]);
    expect(seen).toEqual(["a", "a"]);
    expect(both.map((result) => result.outcome).sort()).toEqual(["committed", "failed"]);
    expect((await attemptOn(db, counting, "a")).outcome).toBe("clean");
    expect(seen).toEqual(["a", "a"]);
  });

  test("a signal that was parked in another process and notified again keeps its new hint, however old the task is", async () => {
    const rows: string[] = [];
    const poked = observer("poked", documents.poke, (_tx, { row }) => rows.push(row));
    const db = await openTest({ commit, observers: [poked] });
    const notify = () => db.transact((tx) => tx.notify(documents.poke, "a"));
    await notify();
    const [queued] = (await readHints(db.store, { start: undefined, end: undefined }, 10)).hints;
    const task = { ...taskFor(poked, "a", queued!.timestamp), cell: pokeOf("a"), hint: queued!.address };
    const other = await openTest({ commit, store: db.store, observers: [poked] });
    await park(other.registry, task, await other.context.oracle.next(), 5, new Error("no luck"));
    await notify();
    const result = await attempt({ registry: db.registry, task, giveUp: new GiveUp(), onLong: () => {} });
    expect(result.outcome).toBe("clean");
    if (result.outcome === "clean") await result.settling;
    expect(await countHints(db.store)).toEqual({ poked: 1 });
    await db.pool.drain();
    expect(rows).toEqual(["a"]);
    expect(await countHints(db.store)).toEqual({});
  });

  test("a worker that has parked a signal's first notification in its queue runs the second at once", async () => {
    const rows: string[] = [];
    const poked = observer("poked", documents.poke, (_tx, { row }) => rows.push(row));
    const db = await openTest({ commit, observers: [poked] });
    const { board, runner } = db.pool;
    const worker = db.pool.work();
    await worker.idle();
    const run = runner.run.bind(runner);
    let goOn = () => {};
    const held = new Promise<void>((resolve) => {
      goOn = resolve;
    });
    const taken = new Promise<Task>((resolve) => {
      vi.spyOn(runner, "run").mockImplementationOnce(async (task, giveUp) => {
        resolve(task);
        await held;
        return await run(task, giveUp);
      });
    });
    const notify = () => db.transact((tx) => tx.notify(documents.poke, "a"));
    await notify();
    const task = await taken;
    // Before the run begins here, another process parks the change, and the signal is notified
    // again.
    await park(db.registry, task, await db.context.oracle.next(), 5, new Error("no luck"));
    await notify();
    goOn();
    await board.whenQuiet();
    expect(rows).toEqual(["a"]);
    await worker.stop();
  });

  test("an observer whose run was given up while it was read is not called", async () => {
    let calls = 0;
    const sending = observer("sending", documents.contents, () => void calls++);
    const db = await openTest({ commit, observers: [sending] });
    await write(db, "a", "x");
    const giveUp = new GiveUp();
    giveUp.giveUp(new StoppedError("The worker was stopped."));
    const task = taskFor(sending, "a", Number.MAX_SAFE_INTEGER);
    const result = await attempt({ registry: db.registry, task, giveUp, onLong: () => {} });
    expect(result).toMatchObject({ outcome: "failed", kind: "stopped" });
    expect(calls).toBe(0);
  });

  test("a hint without a change, or of a rolled-back transaction, runs nothing", async () => {
    const never = observer("never", documents.contents, () => {
      throw new Error("never");
    });
    const db = await openTest({ commit, observers: [never] });
    const registered = (await db.registry.fresh()).observers.get("never")!;
    const cell = { table: "documents", row: Buffer.from("ghost"), column: columnPath("contents") };
    const tx = await db.registry.systemTransaction("spurious");
    tx.addHint(registered.hint(cell));
    await tx.commit();
    expect(await countHints(db.store)).toEqual({ never: 1 });
    await db.pool.drain();
    expect(db.runs.map((run) => run.outcome)).toEqual(["clean"]);
    expect(await countHints(db.store)).toEqual({});
  });
});

describe.each(["one-phase", "two-phase"] as const)("collection, committing in %s", (commit) => {
  const collectAll = (db: TestDatabase) =>
    collect(db.context, tables, Number.POSITIVE_INFINITY, { retentionMs: 0 });

  test("keeps the version that `previous` needs, and drops the others", async () => {
    const seen: (string | undefined)[] = [];
    const watcher = observer("watcher", documents.contents, (_tx, { previous }) => seen.push(previous));
    const db = await openTest({ commit, observers: [watcher] });
    await write(db, "a", "1");
    await db.pool.drain();
    for (const value of ["2", "3", "4"]) await write(db, "a", value);
    const report = await collectAll(db);
    expect(report.versionsDropped).toBeGreaterThan(1);
    await db.pool.drain();
    expect(seen).toEqual([undefined, "1"]);
    expect(await check(db.context, tables)).toEqual([]);
  });

  test("leaves a deletion that an observer has not seen, acknowledged before or not", async () => {
    const seen: (string | undefined)[][] = [];
    const watcher = observer("watcher", documents.contents, (_tx, { row, value }) => seen.push([row, value]));
    const db = await openTest({ commit, observers: [watcher] });
    await write(db, "known", "x");
    await db.pool.drain();
    seen.splice(0);
    await write(db, "new", "x");
    await write(db, "new", undefined);
    await write(db, "known", undefined);
    await collectAll(db);
    await db.pool.drain();
    expect(seen.sort()).toEqual([
      ["known", undefined],
      ["new", undefined],
    ]);
    await collectAll(db);
    await write(db, "known", "y");
    await db.pool.drain();
    expect(seen.at(-1)).toEqual(["known", "y"]);
    expect(await check(db.context, tables)).toEqual([]);
  });
});
