import { type Database, int, observer, table, text } from "percolatordb";
import { memoryStore } from "percolatordb/memory";
import { type OpenWithHooksOptions, openWithHooks, StepHooks, TestClock } from "percolatordb/testing";
import { expect, test } from "vitest";

const documents = table("documents", { contents: text(), length: int() });
const length = observer("length", documents.contents, (tx, { row, value }) =>
  tx.set(documents.length, row, value?.length ?? 0),
);

/**
 * Starts a writer that has cached the registry, on a store where each process caches it for a
 * while.
 */
async function start() {
  const clock = new TestClock();
  const store = memoryStore({ environment: clock.process(), atomicBatches: false });
  const counting = memoryStore({ environment: clock.process() }).atomic!;
  const oracle = {
    next: () => counting.next(),
    latest: () => counting.counter(),
  };
  const hooks = new StepHooks();
  const openOne = (options: OpenWithHooksOptions = {}) =>
    clock.until(
      openWithHooks(store, { environment: clock.process(), oracle, collectEveryMs: 0, ...options }),
    );
  const writer = await openOne({ tables: [documents], hooks });
  const write = (row: string) => writer.transact(async (tx) => tx.set(documents.contents, row, "abc"));
  await clock.until(write("before"));
  return { clock, hooks, openOne, writer, write };
}

async function pendingRows(db: Database): Promise<unknown[]> {
  const rows: unknown[] = [];
  for await (const { row } of db.pending()) rows.push(row);
  return rows;
}

test("every commit that begins after `open` has registered an observer leaves a hint for it", async () => {
  const { clock, openOne, writer, write } = await start();
  const later = await openOne({ observers: [length] });
  await clock.until(write("after"));
  expect(await clock.until(pendingRows(later))).toEqual(["after"]);
  for (const db of [later, writer]) await clock.until(db.close());
});

test("the same holds for a process that opens with an observer that another process has just registered", async () => {
  const { clock, openOne, writer, write } = await start();
  const first = openOne({ observers: [length] });
  const second = openOne({ observers: [length] });
  const later = await Promise.race([first, second]);
  await clock.until(write("after"));
  expect(await clock.until(pendingRows(later))).toEqual(["after"]);
  for (const db of [await first, await second, writer]) await clock.until(db.close());
});

test("a commit that was running may leave no hint, and a backfill after `open` makes its cells due", async () => {
  const { clock, hooks, openOne, writer, write } = await start();
  const pause = hooks.pauseBefore("commit-primary");
  const underWay = write("under way");
  await clock.until(pause.reached);
  const later = await openOne({ observers: [length] });
  const backfilling = later.backfill("length");
  pause.resume();
  await clock.until(underWay);
  await clock.until(backfilling);
  await clock.until(later.drain());
  const rows = await clock.until(
    later.transact((tx) => tx.getMany(documents.length, ["before", "under way"])),
  );
  expect(rows).toEqual([3, 3]);
  for (const db of [later, writer]) await clock.until(db.close());
});

test("opening does not wait for an observer that was registered long ago", async () => {
  const { clock, openOne, writer } = await start();
  const first = await openOne({ observers: [length] });
  await clock.advance(120_000);
  const before = clock.process().monotonic();
  const again = await openOne({ observers: [length] });
  expect(clock.process().monotonic() - before).toBeLessThan(1_000);
  for (const db of [again, first, writer]) await clock.until(db.close());
});
