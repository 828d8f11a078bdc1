import { describe, expect, test } from "vitest";
import { type Database, open, openWithHooks } from "../../database/index.js";
import { CommitOutcomeUnknownError, StoreError } from "../../errors/index.js";
import { observer } from "../../observer/index.js";
import { int, table } from "../../schema/index.js";
import { memoryStore } from "../../store/memory/index.js";
import {
  answerLost,
  diesAfter,
  diesBefore,
  type Interference,
  ProcessStore,
  passes,
  repeated,
  requestLost,
  StepHooks,
  stopsAfter,
  stopsBefore,
  TestClock,
} from "./index.js";

const accounts = table("accounts", { balance: int(), copy: int() });

const write = (db: Database, value = 1) =>
  db.transact(
    (tx) => {
      tx.set(accounts.balance, "alice", value);
      tx.set(accounts.balance, "bob", value);
    },
    { retries: 0 },
  );

const read = (db: Database) => db.transact((tx) => tx.getMany(accounts.balance, ["alice", "bob"]));

async function twoPhase(hooks: StepHooks): Promise<Database> {
  return openWithHooks("memory:", {
    tables: [accounts],
    hooks,
    commit: "two-phase",
    environment: new TestClock({ passesByItself: true }).process(),
  });
}

describe("steps", () => {
  test("are seen in order", async () => {
    const hooks = new StepHooks();
    await using db = await twoPhase(hooks);
    const before = hooks.seen.length;
    await write(db);
    await db.idle();
    const names = hooks.seen.slice(before).map(({ name }) => name);
    expect(names).toEqual(["prewrite", "prewrite", "commit-timestamp", "commit-primary", "commit-secondary"]);
    expect(hooks.count("commit-primary")).toBe(1);
  });

  test("say which plans no step has taken", async () => {
    const hooks = new StepHooks();
    await using db = await openWithHooks("memory:", { tables: [accounts], hooks });
    hooks.once("commit-primary", answerLost); // a commit in memory has no such step
    hooks.once("one-phase-commit", passes);
    hooks.once("one-phase-commit", passes, ({ label }) => label === "nobody");
    await write(db);
    expect(hooks.untaken).toEqual(["commit-primary", "one-phase-commit"]);
  });

  test("can be paused at, before and after, until the test continues", async () => {
    const hooks = new StepHooks();
    await using db = await twoPhase(hooks);
    const locks = async () => {
      let standing = 0;
      for await (const _ of db.locks()) standing++;
      return standing;
    };
    const [before, after] = [hooks.pauseBefore("commit-primary"), hooks.pauseAfter("commit-secondary")];
    const writing = write(db);
    await before.reached;
    expect(await locks()).toBe(2);
    before.resume();
    await after.reached;
    expect(await locks()).toBe(0);
    after.resume();
    await writing;
    expect(await read(db)).toEqual([1, 1]);
  });

  test("are selected by name, by their subject, and in the order of the plans", async () => {
    const copies = observer("copies", accounts.balance, (tx, { row, value }) =>
      tx.set(accounts.copy, row, value ?? 0),
    );
    const hooks = new StepHooks();
    const environment = new TestClock({ passesByItself: true }).process();
    await using db = await openWithHooks("memory:", {
      tables: [accounts],
      hooks,
      observers: [copies],
      environment,
    });
    const log: string[] = [];
    const logged =
      (name: string): Interference =>
      (run) => {
        log.push(name);
        return run();
      };
    hooks.once("one-phase-commit", logged("the run's"), ({ label }) => label === "copies");
    hooks.once("one-phase-commit", passes);
    hooks.once("one-phase-commit", logged("the second"));
    await write(db);
    await db.drain();
    await write(db, 2);
    expect(log).toEqual(["the run's", "the second"]);
  });
});

describe("faults of a commit in two phases", () => {
  test.each([
    { name: "the answer", interference: answerLost, step: "commit-primary", value: 1 },
    { name: "the answer", interference: answerLost, step: "prewrite", value: 1 },
    { name: "the request", interference: requestLost, step: "prewrite", value: 1 },
    { name: "nothing, done twice,", interference: repeated, step: "prewrite", value: 1 },
    { name: "nothing, done twice,", interference: repeated, step: "commit-timestamp", value: 1 },
  ] as const)("$name of $step is lost: it commits", async ({ interference, step, value }) => {
    const hooks = new StepHooks();
    await using db = await twoPhase(hooks);
    hooks.once(step, interference);
    await write(db, value);
    expect(await read(db)).toEqual([value, value]);
  });

  test.each([
    { interference: requestLost, step: "commit-primary", error: StoreError },
    { interference: requestLost, step: "commit-timestamp", error: StoreError },
    { interference: answerLost, step: "commit-timestamp", error: StoreError },
  ] as const)("$step fails", async ({ interference, step, error }) => {
    const hooks = new StepHooks();
    await using db = await twoPhase(hooks);
    hooks.once(step, interference);
    await expect(write(db)).rejects.toThrow(error);
    expect(await read(db)).toEqual([undefined, undefined]);
  });

  test.each([
    { name: "before", interference: stopsBefore, values: [undefined, undefined] },
    { name: "after", interference: stopsAfter, values: [1, 1] },
  ])("a commit that stops $name its commit point", async ({ interference, values }) => {
    const hooks = new StepHooks();
    const store = memoryStore();
    const environment = new TestClock({ passesByItself: true }).process();
    const db = await openWithHooks(store, { tables: [accounts], hooks, commit: "two-phase", environment });
    hooks.once("commit-primary", interference);
    let isOver = false;
    void write(db).finally(() => {
      isOver = true;
    });
    await environment.clock.settle();
    expect(await read(db)).toEqual(values);
    expect(isOver).toBe(false);
  });
});

describe("faults of a commit in one phase", () => {
  test.each([
    { name: "answer", interference: answerLost, values: [1, 1] },
    { name: "request", interference: requestLost, values: [undefined, undefined] },
  ])("the $name is lost: the outcome is unknown", async ({ interference, values }) => {
    const hooks = new StepHooks();
    await using db = await openWithHooks("memory:", { tables: [accounts], hooks });
    hooks.once("one-phase-commit", interference);
    await expect(write(db)).rejects.toThrow(CommitOutcomeUnknownError);
    expect(await read(db)).toEqual(values);
  });
});

describe("a process that dies", () => {
  test.each([
    { name: "before", dies: diesBefore, values: [undefined, undefined] },
    { name: "after", dies: diesAfter, values: [1, 1] },
  ])("$name its commit point: another process finds all or nothing", async ({ dies, values }) => {
    const clock = new TestClock({ passesByItself: true });
    const store = memoryStore({ environment: clock.process() });
    const [owner, other] = [clock.process(), clock.process()];
    const hooks = new StepHooks();
    const commit = "two-phase";
    const ownerDb = await openWithHooks(new ProcessStore(store, owner), {
      tables: [accounts],
      environment: owner,
      hooks,
      commit,
    });
    await using db = await open(new ProcessStore(store, other), {
      tables: [accounts],
      environment: other,
      commit,
    });
    hooks.once("commit-primary", dies(owner));
    void write(ownerDb);
    await clock.settle();
    expect(owner.isDead).toBe(true);
    await clock.advance(10_000);
    expect(await read(db)).toEqual(values);
  });
});
