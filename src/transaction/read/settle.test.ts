import { beforeEach, expect, test } from "vitest";
import { DistantTestStore, distantContext } from "../../../test/support/distant-store.js";
import { StaleSnapshotError } from "../../errors/index.js";
import { family, table, text } from "../../schema/index.js";
import type { RangeRead, RawRead, RowMutation, RowRead } from "../../store/index.js";
import { StepHooks, stopsAfter } from "../../testing/index.js";
import { ActiveTransactions } from "../active.js";
import type { TransactionContext } from "../context.js";
import { CoreTransaction } from "../core.js";
import { collect } from "../maintenance/collect.js";
import { transact } from "../transact.js";
import { Transaction } from "../transaction.js";
import { Snapshot } from "./snapshot.js";

const pages = table("pages", { title: text(), contents: text() });
/** Too long for its write record, so it is in a data cell. */
const long = "one ".repeat(1_000);

let store: DistantTestStore;
let hooks: StepHooks;
let context: TransactionContext;

beforeEach(() => {
  store = new DistantTestStore();
  hooks = new StepHooks();
  context = distantContext(store, hooks);
});

function set(title: string, contents: string): Promise<void> {
  return transact(context, (tx) => {
    tx.set(pages.title, "a", title);
    tx.set(pages.contents, "a", contents);
  });
}

/** Another process collects all old versions. It does not know of this process's snapshots. */
async function collectElsewhere(): Promise<void> {
  await context.background.settled();
  const other = { ...context, active: new ActiveTransactions(context.environment) };
  await context.oracle.next();
  await collect(other, ["pages"], Number.POSITIVE_INFINITY, { retentionMs: 0 });
}

/** Removes the locks in the row, and all versions that an earlier snapshot needs. */
async function dropVersions(): Promise<void> {
  await collectElsewhere();
  await set("two", "two");
  await collectElsewhere();
}

/** Leaves a lock in the row. Its transaction stops after its prewrite. */
async function leaveLock(): Promise<void> {
  const { reached } = hooks.pauseBefore("commit-timestamp");
  const stopped = new Transaction(await CoreTransaction.begin(context));
  stopped.set(pages.title, "a", "locked");
  void stopped.commit();
  await reached;
}

/** Calls `meanwhile` before the store receives the `nth` read of the row or its table. */
function interfere(kind: "readRow" | "readRange" | "readRaw", nth: number, meanwhile: () => Promise<void>) {
  const original: (read: RowRead & RangeRead & RawRead) => unknown = store[kind].bind(store);
  let reads = 0;
  const intercepted = async (read: RowRead & RangeRead & RawRead) => {
    if (read.table === "pages" && ++reads === nth) await meanwhile();
    return original(read);
  };
  Object.assign(store, { [kind]: intercepted });
}

/** Leaves the data cells out of each row's views, so that a reader must ask for them. */
function showNoData(): void {
  const readRow = store.readRow.bind(store);
  store.readRow = async (read) => {
    const page = await readRow(read);
    return { ...page, cells: page.cells.map((cell) => ({ ...cell, data: [] })) };
  };
}

async function firstOfScan(snapshot: Snapshot): Promise<string | undefined> {
  for await (const { value } of snapshot.scan(pages.title)) return value;
  return undefined;
}

const getTitle = (snapshot: Snapshot) => snapshot.get(pages.title, "a");
const getContents = (snapshot: Snapshot) => snapshot.get(pages.contents, "a");

test.each([
  { when: "before the store reads its row", kind: "readRow", nth: 1, isLocked: false, read: getTitle },
  { when: "while it resolves a lock", kind: "readRow", nth: 2, isLocked: true, read: getTitle },
  { when: "before it fetches a data cell", kind: "readRaw", nth: 1, isLocked: false, read: getContents },
  { when: "before the store reads its page", kind: "readRange", nth: 1, isLocked: false, read: firstOfScan },
  { when: "before it reads a locked row again", kind: "readRow", nth: 1, isLocked: true, read: firstOfScan },
] as const)(
  "a snapshot whose versions are collected $when is stale, and reads no wrong value",
  async ({ kind, nth, isLocked, read }) => {
    await set("one", long);
    if (isLocked) await leaveLock();
    showNoData();
    await using snapshot = new Snapshot(context, await context.oracle.next());
    let isCollected = false;
    interfere(kind, nth, async () => {
      isCollected = true;
      await dropVersions();
    });
    await expect(read(snapshot)).rejects.toBeInstanceOf(StaleSnapshotError);
    expect(isCollected).toBe(true);
  },
);

test("a snapshot reads the same values if nothing is collected meanwhile", async () => {
  await set("one", long);
  await leaveLock();
  showNoData();
  await using snapshot = new Snapshot(context, await context.oracle.next());
  expect(await Promise.all([getTitle, getContents, firstOfScan].map((read) => read(snapshot)))).toEqual([
    "one",
    long,
    "one",
  ]);
});

test("a long value is that of its write record, though a newer one is there and not committed", async () => {
  await set("one", long);
  const pause = hooks.pauseBefore("commit-primary");
  const writing = set("two", `${long}two`);
  await pause.reached;
  await using snapshot = new Snapshot(context, await context.oracle.next());
  expect(await snapshot.get(pages.contents, "a")).toBe(long);
  pause.resume();
  await writing;
  expect(await snapshot.get(pages.contents, "a")).toBe(long);
});

test("a row may have more locks than the read of one page resolves", async () => {
  const tags = table("tags", { names: family(text()), owner: text() });
  const count = 1_000;
  hooks.once("commit-primary", stopsAfter);
  const stopped = new Transaction(await CoreTransaction.begin(context));
  stopped.set(tags.owner, "a", "one");
  for (let at = 0; at < count; at++) stopped.set(tags.names.at(`${at}`), "b", "two");
  void stopped.commit();
  const isCommit = ({ mutations }: RowMutation) => mutations.some(({ part }) => part === "write");
  while (!store.mutations.some(isCommit)) await new Promise((resolve) => setImmediate(resolve));
  // The reader takes a page with one cell at a time.
  const readRow = store.readRow.bind(store);
  store.readRow = (read) => readRow({ ...read, limit: 1 });
  await using snapshot = new Snapshot(context, await context.oracle.next());
  const rows: number[] = [];
  for await (const { value } of snapshot.scan(tags, { start: "b" })) rows.push(value.names.size);
  expect(rows).toEqual([count]);
});
