import { expect, test } from "vitest";
import { TestCluster, type TestMember } from "../../../test/support/observer/cluster.js";
import { openTest } from "../../../test/support/observer/context.js";
import { documents } from "../../../test/support/observer/documents.js";
import { TestEnvironment } from "../../../test/support/observer/environment.js";
import { columnPath } from "../../schema/index.js";
import { memoryStore } from "../../store/memory/index.js";
import { hintAddress, hintPrefix } from "../hint/hint.js";
import { observer } from "../index.js";
import type { Observer } from "../observer.js";

const cellOf = (row: string) => ({
  table: "documents",
  row: Buffer.from(row),
  column: columnPath("contents"),
});

/** A member of a cluster, with its database. */
function openMember(environment: TestEnvironment, cluster: TestMember, ...observers: Observer[]) {
  const counting = memoryStore().atomic!;
  return openTest({
    store: memoryStore({ environment, atomicBatches: false }),
    environment,
    commit: "two-phase",
    oracle: { next: (options) => counting.next(options), latest: () => counting.counter() },
    observers,
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
  "a process claims no more than it will run soon, limited by $by, so that a process that joins later finds work",
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
    expect(service.maxClaims).toBe(limits.claimed);
    await environment.until(worker.stop());
    await environment.until(db.close());
  },
);

test("a change whose claim is refused does not run here until it can be claimed; a run that has begun goes on", async () => {
  const environment = new TestEnvironment();
  const service = new TestCluster();
  const member = service.member();
  const claim = member.claim.bind(member);
  const answers = new Map<string, (isGranted: boolean) => void>();
  let waits = true;
  const nameOf = (key: Uint8Array) => Buffer.from(key).toString("latin1");
  member.claim = (key) => {
    if (!waits) return claim(key);
    return new Promise((resolve) => answers.set(nameOf(key).at(-1)!, resolve));
  };
  const begun: string[] = [];
  let goOn = () => {};
  const gate = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  const gated = observer("gated", documents.contents, async (_tx, { row }) => {
    begun.push(`${row}`);
    await gate;
  });
  const db = await openMember(environment, member, gated);
  const write = (row: string) =>
    environment.until(db.transact((tx) => tx.set(documents.contents, row, "text")));
  db.pool.work({ concurrency: 1 });
  await environment.advance(1_000);
  const rows = ["a", "b", "c", "d", "e"];
  for (const row of rows) await write(row);
  await environment.settle();
  expect([begun, [...answers.keys()]]).toEqual([["a"], rows]);
  // Another process has claimed two of the rows.
  waits = false;
  const ofOther = ["a", "b"].map((row) => hintAddress(hintPrefix("gated"), cellOf(row)).row);
  for (const key of ofOther) service.claims.set(nameOf(key), "another session");
  for (const [row, answer] of answers) answer(row > "b");
  await environment.settle();
  goOn();
  await environment.advance(5_000);
  expect(begun).toEqual(["a", "c", "d", "e"]);
  for (const row of ["f", "g", "h"]) await write(row);
  await environment.settle();
  expect(begun).toEqual(["a", "c", "d", "e", "f", "g", "h"]);
  for (const key of ofOther) service.claims.delete(nameOf(key));
  await environment.until(db.pool.idle());
  expect(begun.sort()).toEqual([...rows, "f", "g", "h"]);
  expect(db.runs.map(({ outcome }) => outcome)).toEqual(Array(8).fill("committed"));
  expect(service.claims.size).toBe(0);
  await environment.until(db.close());
});

test("a run whose claim was refused releases no claim that its row has got since", async () => {
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
  const goOn = new Map<string | undefined, () => void>();
  const gated = observer("gated", documents.anchors, async (_tx, { qualifier }) => {
    await new Promise<void>((resolve) => goOn.set(qualifier, resolve));
  });
  const db = await openMember(environment, member, gated);
  const write = (qualifier: string) =>
    environment.until(db.transact((tx) => tx.set(documents.anchors.at(qualifier), "a", "text")));
  db.pool.work();
  await environment.advance(1_000);
  await write("first");
  await environment.settle();
  refuse!();
  await environment.settle();
  await write("second");
  await environment.settle();
  expect([[...goOn.keys()], service.claims.size]).toEqual([["first", "second"], 1]);
  goOn.get("first")!();
  await environment.advance(100);
  expect(db.runs.map(({ outcome }) => outcome)).toEqual(["committed"]);
  expect(service.claims.size).toBe(1);
  goOn.get("second")!();
  await environment.until(db.pool.idle());
  expect(service.claims.size).toBe(0);
  await environment.until(db.close());
});

test("changes that another process has claimed do not keep another observer from its turn", async () => {
  const environment = new TestEnvironment();
  const service = new TestCluster();
  const member = service.member();
  const claim = member.claim.bind(member);
  const refusals: (() => void)[] = [];
  member.claim = (key) => {
    const isOfOther = ["3", "4"].includes(Buffer.from(key).toString("latin1").at(-1)!);
    if (!isOfOther) return claim(key);
    return new Promise((resolve) => refusals.push(() => resolve(false)));
  };
  const ran: string[] = [];
  let goOn = () => {};
  const gate = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  const first = observer(
    "first",
    documents.contents,
    async (_tx, { row }) => {
      ran.push(row);
      await gate;
    },
    { priority: 1 },
  );
  const second = observer("second", documents.poke, (_tx, { row }) => void ran.push(`poke ${row}`));
  const db = await openMember(environment, member, first, second);
  db.pool.work({ concurrency: 1 });
  await environment.advance(1_000);
  for (const row of ["0", "1", "2", "3", "4"])
    await environment.until(db.transact((tx) => tx.set(documents.contents, row, "text")));
  await environment.until(db.transact((tx) => tx.notify(documents.poke, "a")));
  await environment.settle();
  for (const refuse of refusals.splice(0)) refuse();
  await environment.settle();
  const now = environment.monotonic();
  goOn();
  await environment.settle();
  expect([ran, environment.monotonic()]).toEqual([["0", "1", "2", "poke a"], now]);
  member.claim = claim;
  await environment.until(db.pool.idle());
  await environment.until(db.close());
});

test("a change whose claim fails runs here, because a claim is only advice", async () => {
  const environment = new TestEnvironment();
  const member = new TestCluster().member();
  const failing: (() => void)[] = [];
  member.claim = () =>
    new Promise((_, reject) => failing.push(() => reject(new Error("The coordinator is away."))));
  const begun: string[] = [];
  let goOn = () => {};
  const gate = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  const gated = observer("gated", documents.contents, async (_tx, { row }) => {
    begun.push(row);
    await gate;
  });
  const db = await openMember(environment, member, gated);
  db.pool.work({ concurrency: 1 });
  await environment.advance(1_000);
  for (const row of ["a", "b"])
    await environment.until(db.transact((tx) => tx.set(documents.contents, row, "text")));
  await environment.settle();
  expect([begun, failing.length]).toEqual([["a"], 2]);
  for (const fail of failing) fail();
  await environment.settle();
  const now = environment.monotonic();
  goOn();
  await environment.settle();
  expect([begun, environment.monotonic()]).toEqual([["a", "b"], now]);
  await environment.until(db.pool.idle());
  await environment.until(db.close());
});
