import { observer, open, table, text } from "percolatordb";
import { memoryStore } from "percolatordb/memory";
import { ProcessStore, TestClock } from "percolatordb/testing";
import { expect, test } from "vitest";

const documents = table("documents", { contents: text(), seen: text() });
const seen = observer("seen", documents.contents, async (tx, { row }) => tx.set(documents.seen, row, "yes"));
const second = 1_000;

/**
 * Starts two processes: one that runs no observer and waits until the database is idle, and one
 * with a worker.
 */
async function start() {
  const clock = new TestClock({ oneMachine: false });
  const store = memoryStore({ environment: clock.process({ name: "store" }) });
  const near = clock.process({ name: "near" });
  const far = clock.process({ name: "far" });
  const options = { tables: [documents], collectEveryMs: 0 };
  const waiter = await clock.until(open(new ProcessStore(store, near), { ...options, environment: near }));
  const worker = await clock.until(
    open(new ProcessStore(store, far), { ...options, environment: far, observers: [seen] }),
  );
  worker.work();
  await clock.advance(3 * second);
  return { clock, far, waiter, worker };
}

test.each([6, 12])("idle waits for a worker that is paused for %i s", async (seconds) => {
  const { clock, far, waiter, worker } = await start();
  await clock.until(waiter.idle());
  far.suspend();
  await clock.until(waiter.transact(async (tx) => tx.set(documents.contents, "a", "text")));
  let isIdle = false;
  const waiting = waiter.idle().then(() => {
    isIdle = true;
  });
  await clock.advance(seconds * second);
  expect(isIdle).toBe(false);
  far.resume();
  await clock.until(waiting);
  const row = await clock.until(waiter.transact((tx) => tx.row(documents, "a")));
  expect(row?.seen).toBe("yes");
  await clock.until(worker.close());
  await clock.until(waiter.close());
});

const nobodyRuns = 'no live process runs: "seen" (1)';

test("it does not wait endlessly for one that never returns: idle and drain name the changes without a worker", async () => {
  const { clock, far, waiter } = await start();
  far.die();
  await clock.until(waiter.transact(async (tx) => tx.set(documents.contents, "a", "text")));
  await expect(clock.until(waiter.idle(), { maxMs: 60 * second })).rejects.toThrow(nobodyRuns);
  await expect(clock.until(waiter.drain())).rejects.toThrow(nobodyRuns);
  await clock.until(waiter.close());
});

test("it does not wait for one that ended by itself", async () => {
  const { clock, waiter, worker } = await start();
  await clock.until(worker.close());
  await clock.until(waiter.transact(async (tx) => tx.set(documents.contents, "a", "text")));
  await expect(clock.until(waiter.idle(), { maxMs: second })).rejects.toThrow(nobodyRuns);
  await clock.until(waiter.close());
});
