import { expect, test } from "vitest";
import { TestCluster, type TestMember } from "../../../test/support/observer/cluster.js";
import { openTest } from "../../../test/support/observer/context.js";
import { documents } from "../../../test/support/observer/documents.js";
import { TestEnvironment } from "../../../test/support/observer/environment.js";
import { memoryStore } from "../../store/memory/index.js";
import { observer } from "../index.js";
import type { Observer } from "../observer.js";

/** A member of a cluster, with its database. */
function openMember(environment: TestEnvironment, cluster: TestMember, hosted: Observer) {
  const counting = memoryStore().atomic!;
  return openTest({
    store: memoryStore({ environment, atomicBatches: false }),
    environment,
    commit: "two-phase",
    oracle: { next: (options) => counting.next(options), latest: () => counting.counter() },
    observers: [hosted],
    cluster,
  });
}

test("a claim that is refused after its task is over does not affect the next task of the cell", async () => {
  const environment = new TestEnvironment();
  const service = new TestCluster();
  const member = service.member();
  const claim = member.claim.bind(member);
  let refuse: (() => void) | undefined;
  member.claim = (key) => {
    if (refuse !== undefined) return claim(key);
    return new Promise((resolve) => {
      refuse = () => resolve(false);
    });
  };
  let begun = 0;
  let goOn = () => {};
  const gate = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  const gated = observer("gated", documents.contents, async () => {
    if (++begun === 2) await gate;
  });
  const db = await openMember(environment, member, gated);
  const write = (value: string) =>
    environment.until(db.transact((tx) => tx.set(documents.contents, "a", value)));
  const worker = db.pool.work();
  await environment.advance(1_000);
  await write("one");
  await environment.advance(100);
  expect([begun, db.pool.board.size]).toEqual([1, 0]);
  await write("two");
  await environment.advance(100);
  expect([begun, service.claims.size]).toEqual([2, 1]);
  refuse!();
  await environment.settle();
  goOn();
  await environment.until(worker.idle());
  expect([service.claims.size, db.pool.claims!.size]).toEqual([0, 0]);
  await environment.until(worker.stop());
  await environment.until(db.close());
});

test.each([
  { by: "worker", observerRuns: undefined, workerRuns: 2, claimed: 10 },
  { by: "observer", observerRuns: 1, workerRuns: undefined, claimed: 5 },
])(
  "a process claims no more than it will run soon, as the $by limits it: a process that joins later finds work",
  async (limits) => {
    const environment = new TestEnvironment();
    const service = new TestCluster();
    let goOn = () => {};
    const gate = new Promise<void>((resolve) => {
      goOn = resolve;
    });
    const gated = observer("gated", documents.contents, () => gate, { concurrency: limits.observerRuns });
    const db = await openMember(environment, service.member(), gated);
    const worker = db.pool.work({ concurrency: limits.workerRuns });
    await environment.advance(1_000);
    await environment.until(
      db.transact((tx) => {
        for (let row = 0; row < 100; row++) tx.set(documents.contents, `row ${row}`, "text");
      }),
    );
    await environment.advance(1_000);
    expect(worker.running).toBe(limits.observerRuns ?? limits.workerRuns);
    expect(service.claims.size).toBe(limits.claimed);
    goOn();
    await environment.until(worker.idle());
    expect(service.claims.size).toBe(0);
    await environment.until(worker.stop());
    await environment.until(db.close());
  },
);
