import { memoryStore } from "percolatordb/memory";
import { expect, test } from "vitest";
import { openTest } from "../../../test/support/observer/context.js";
import { documents } from "../../../test/support/observer/documents.js";
import { systemEnvironment } from "../../environment/index.js";
import type { AtomicStore, CommitOptions } from "../../store/index.js";
import { PassingStore } from "../../transaction/wire/passing-store.js";
import { observer } from "../index.js";
import { RunsUnderWay } from "./runs-under-way.js";

test("a run is expected until it comes to its commit, or has taken too long for that", () => {
  let at = 1_000;
  const runs = new RunsUnderWay({ ...systemEnvironment, monotonic: () => at });
  const arrive = runs.begin();
  at += 20;
  runs.begin();
  expect(runs.expected).toBe(2);
  arrive();
  arrive();
  expect(runs.expected).toBe(1);
  const late = runs.begin();
  at += 24;
  expect(runs.expected).toBe(2);
  at += 2;
  expect(runs.expected).toBe(0);
  late();
  expect(runs.expected).toBe(0);
});

/** Notes what each commit is told of others. */
class NotingStore extends PassingStore {
  readonly noted: (number | undefined)[] = [];
  override readonly atomic: AtomicStore;

  constructor() {
    super(memoryStore());
    const atomic = this.store.atomic!;
    const commit: AtomicStore["commit"] = (batch, options?: CommitOptions) => {
      this.noted.push(options?.company?.expected);
      return atomic.commit(batch, options);
    };
    this.atomic = { counter: () => atomic.counter(), next: (...options) => atomic.next(...options), commit };
  }
}

test("runs that begin together tell their commits how many are still expected; a program's commit has no company", async () => {
  const store = new NotingStore();
  // On a busy machine the runs take longer than they are expected.
  const environment = { ...systemEnvironment, monotonic: () => 1_000 };
  let arrived = 0;
  let go = () => {};
  const all = new Promise<void>((resolve) => (go = resolve));
  const together = observer("together", documents.contents, async (tx, { row }) => {
    if (++arrived === 3) go();
    await all;
    tx.set(documents.words, row, 1);
  });
  const db = await openTest({ store, environment, observers: [together] });
  store.noted.length = 0;
  await db.transact((tx) => {
    for (const row of ["a", "b", "c"]) tx.set(documents.contents, row, "text");
  });
  expect(store.noted).toEqual([undefined]);
  await db.pool.drain();
  expect(store.noted.filter((each) => each !== undefined)).toEqual([2, 1, 0]);
});
