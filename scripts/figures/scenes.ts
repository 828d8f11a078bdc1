import { type Database, int, observer, open, table, text } from "percolatordb";
import { memoryStore } from "percolatordb/memory";
import {
  diesBefore,
  openWithHooks,
  Pause,
  ProcessStore,
  type StepFilter,
  StepHooks,
  TestClock,
} from "percolatordb/testing";
import { Scene } from "./scene.js";

/*
 * The scenes of docs/how-it-works.md: small programs that stop in the middle of a commit and record
 * the state. Time stands still and random numbers are fixed, so that the result is always the same.
 */

const accounts = table("accounts", { balance: int() });
const documents = table("documents", { text: text(), words: int() });
const bob = [accounts, "Bob"] as const;
const joe = [accounts, "Joe"] as const;

interface Bank {
  readonly clock: TestClock;
  readonly hooks: StepHooks;
  readonly db: Database;
}

/** Bob has 10 and Joe has 2. No transaction is running. */
async function openBank(): Promise<Bank> {
  const clock = new TestClock();
  const hooks = new StepHooks();
  const db = await openWithHooks("memory:", {
    environment: clock.process(),
    tables: [accounts],
    hooks,
    commit: "two-phase",
  });
  await fill(db, clock);
  return { clock, hooks, db };
}

async function fill(db: Database, clock: TestClock): Promise<void> {
  await db.transact((tx) => {
    tx.set(accounts.balance, "Bob", 10);
    tx.set(accounts.balance, "Joe", 2);
  });
  await clock.settle();
}

/** Moves 7 from Bob to Joe. */
function transfer(db: Database): Promise<void> {
  return db.transact(
    async (tx) => {
      const [from = 0, to = 0] = await tx.getMany(accounts.balance, ["Bob", "Joe"]);
      tx.set(accounts.balance, "Bob", from - 7);
      tx.set(accounts.balance, "Joe", to + 7);
    },
    { label: "transfer" },
  );
}

const labelled =
  (wanted: string): StepFilter =>
  ({ label }) =>
    label === wanted;
const ofTransfer = labelled("transfer");

/** Pauses a transaction before its commit point, and again after it. */
function aroundCommitPoint(
  hooks: StepHooks,
  where: StepFilter,
): { readonly before: Pause; readonly after: Pause } {
  const [before, after] = [new Pause(), new Pause()];
  hooks.once(
    "commit-primary",
    async (run) => {
      await before.here();
      const answer = await run();
      await after.here();
      return answer;
    },
    where,
  );
  return { before, after };
}

/** The paper's figure 4. */
async function transferOf7(): Promise<Scene> {
  const { clock, hooks, db } = await openBank();
  const scene = new Scene([bob, joe]);
  await scene.take(db, "Before", ["Bob has 10, Joe has 2, both since one commit."]);
  const joesPrewrite = hooks.pauseBefore(
    "prewrite",
    (info) => ofTransfer(info) && info.cell?.includes("Joe") === true,
  );
  const { before: beforeCommit, after: afterCommit } = aroundCommitPoint(hooks, ofTransfer);
  const done = transfer(db);
  await joesPrewrite.reached;
  await clock.settle();
  await scene.take(db, "Prewrite: the primary", [
    "Bob's cell is locked, with the new value inside the lock. It was chosen as the primary: what becomes of it decides.",
  ]);
  joesPrewrite.resume();
  await beforeCommit.reached;
  await scene.take(db, "Prewrite: the secondary", [
    "Joe's lock names the primary. All locks stand, and only now the commit timestamp is taken. Readers still see 10 and 2.",
  ]);
  beforeCommit.resume();
  await afterCommit.reached;
  await scene.take(db, "The commit point", [
    "One mutation of Bob's row: the lock becomes a write record, and the status says so. From here on it is committed.",
  ]);
  afterCommit.resume();
  await done;
  await clock.settle();
  await scene.take(db, "Secondaries", [
    "Joe's lock becomes a write record with the same commit timestamp. The caller did not wait for this.",
  ]);
  await db.close();
  return scene;
}

/**
 * A reader before the commit point pushes the transaction. A reader after the commit point rolls
 * the transaction forward.
 */
async function readers(): Promise<Scene> {
  const { clock, hooks, db } = await openBank();
  const scene = new Scene([bob, joe]);
  const beforeCommit = hooks.pauseBefore("commit-primary", ofTransfer);
  // The first reader's push makes the store refuse the first attempt to commit. This pause is in
  // the second attempt.
  const afterCommit = hooks.pauseAfter("commit-primary", ofTransfer);
  const done = transfer(db);
  await beforeCommit.reached;
  await scene.take(db, "A transfer is under way", [
    "All locks stand; its commit timestamp is taken, and it has not committed yet.",
  ]);

  const first = await db.snapshot();
  const before = await first.get(accounts.balance, "Joe");
  await scene.take(
    db,
    `A reader pushes, and reads ${String(before)}`,
    [
      "It reads at ",
      first.timestamp,
      ", meets Joe's lock and looks at the primary. The owner lives, so it raises the least",
    ],
    [
      "timestamp at which that may commit. Whatever becomes of the transfer comes after this read: 2 is right. Nobody waited.",
    ],
  );
  beforeCommit.resume();
  await afterCommit.reached;
  await scene.take(db, "The transfer commits later", [
    "Its first commit timestamp was refused. It took a new one, and committed with that.",
  ]);
  const second = await db.snapshot();
  const after = await second.get(accounts.balance, "Joe");
  await clock.settle();
  await scene.take(db, `Another reader rolls forward, and reads ${String(after)}`, [
    "Joe's lock still stood. Its primary says COMMIT, so the reader does the secondary's step itself, whoever the owner is.",
  ]);
  afterCommit.resume();
  await done;
  await first.close();
  await second.close();
  await db.close();
  return scene;
}

/** A writer dies and leaves its locks. */
async function deadWriter(): Promise<Scene> {
  const clock = new TestClock();
  const store = memoryStore({ environment: clock.process() });
  const [dying, living] = [clock.process(), clock.process()];
  const hooks = new StepHooks();
  const options = { tables: [accounts], commit: "two-phase" } as const;
  const first = await openWithHooks(new ProcessStore(store, dying), {
    ...options,
    environment: dying,
    hooks,
  });
  const db = await open(new ProcessStore(store, living), { ...options, environment: living });
  await fill(db, clock);
  const scene = new Scene([bob, joe]);
  hooks.once("commit-primary", diesBefore(dying), ofTransfer);
  void transfer(first);
  await clock.advance(10_000);
  await scene.take(db, "The writer is dead", [
    "Its process ended before the commit point. The locks stand, and nobody will take them away.",
  ]);
  const balances = await clock.until(
    db.transact((tx) => tx.getMany(accounts.balance, ["Bob", "Joe"])),
    {
      maxMs: 60_000,
    },
  );
  await clock.settle();
  await scene.take(
    db,
    `A reader rolls it back, and reads ${balances.join(" and ")}`,
    [
      "The owner shows no sign of life. First the primary's lock is taken away, and ROLLBACK stays as its status: a request of the",
    ],
    ["dead process that arrives late finds it, and does nothing. Then the other locks go."],
  );
  await db.close();
  return scene;
}

/** From a change to the run that handles it. */
async function observing(): Promise<Scene> {
  const clock = new TestClock();
  const hooks = new StepHooks();
  const words = observer("words", documents.text, (tx, { row, value = "" }) => {
    tx.set(documents.words, row, value.split(" ").length);
  });
  const options = { environment: clock.process(), observers: [words], hooks, commit: "two-phase" } as const;
  const db = await open("memory:", options);
  const scene = new Scene([[documents, "a"]], true);
  const beforeChange = hooks.pauseBefore("commit-primary", labelled("change"));
  const { before: beforeRun, after: afterRun } = aroundCommitPoint(hooks, labelled("words"));
  const change = db.transact((tx) => tx.set(documents.text, "a", "to be or not to be"), { label: "change" });
  await beforeChange.reached;
  await scene.take(db, "The hint, before the commit point", [
    "The registry says that words watches this column. The hint stands before the change can be seen, so it cannot be lost.",
  ]);
  beforeChange.resume();
  await change;
  await clock.settle();
  await scene.take(db, "The change is committed", [
    "A worker that meets the hint reads the cell and the acknowledgment: there is none, so the observer is due.",
  ]);
  const drained = db.drain();
  await beforeRun.reached;
  await scene.take(
    db,
    "The observer's run is a transaction",
    [
      "What it wrote, and its acknowledgment, are locked. The acknowledgment is the primary: two runs for one change would both",
    ],
    ["write it, and only one could commit."],
  );
  beforeRun.resume();
  await afterRun.reached;
  await scene.take(db, "The run commits", [
    "Acknowledged up to its start timestamp, which is above the change. From here on nobody does it again.",
  ]);
  afterRun.resume();
  await clock.until(drained);
  await clock.settle();
  await scene.take(db, "The hint goes", [
    "Only versions of the hint up to the run's start go. A change that came meanwhile keeps its own.",
  ]);
  await db.close();
  return scene;
}

/** Versions that no snapshot can see are removed. */
async function collecting(): Promise<Scene> {
  const { clock, db } = await openBank();
  const scene = new Scene([bob]);
  for (const balance of [11, 12]) {
    await db.transact((tx) => tx.set(accounts.balance, "Bob", balance));
    await clock.settle();
  }
  await scene.take(db, "Three versions", ["A snapshot of any moment within the retention finds its own."]);
  await clock.advance(10);
  await db.collect({ retentionMs: 0 });
  await scene.take(db, "Collected, with a retention of 0", [
    "The safepoint was published first, then locks below it resolved, and only then went what no snapshot above it can see.",
  ]);
  await db.close();
  return scene;
}

export interface Figure {
  readonly title: string;
  readonly make: () => Promise<Scene>;
}

/** All figures, by name. */
export const figures: Readonly<Record<string, Figure>> = {
  transfer: { title: "A transfer between two accounts, step by step", make: transferOf7 },
  readers: { title: "A reader before the commit point, and one after it", make: readers },
  "dead-writer": { title: "A reader meets the locks of a writer that died", make: deadWriter },
  observer: { title: "From a change to the run that handles it", make: observing },
  collection: { title: "Versions that no snapshot can see are dropped", make: collecting },
};
