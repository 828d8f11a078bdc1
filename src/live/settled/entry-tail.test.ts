import { expect, test, vi } from "vitest";
import { openTest } from "../../../test/support/observer/context.js";
import { StoreDamagedError, StoreError } from "../../errors/index.js";
import type { FeedRecord, Registry } from "../../observer/index.js";
import { currentTimestamp } from "../../oracle/index.js";
import { int, table } from "../../schema/index.js";
import type { CommitClock } from "../commit-clock.js";
import { raiseMark } from "../feed/feed-marks.js";
import { EntryTail } from "./entry-tail.js";
import type { Waiter } from "./waiter.js";

const cells = table("cells", { value: int() });
const name = "live observed";
const record = { name, since: 0, retentionMs: 300_000, isLeased: true } as unknown as FeedRecord;
const viewOfFeed = () => ({ feedRecords: new Map([[name, { record }]]), observers: new Map() });
const retrying = (run: () => Promise<unknown>) => run();

/** A waiter for which something stays due. */
function waiterAt(position: number): Waiter {
  let reject!: (error: unknown) => void;
  const done = new Promise<void>((_, no) => {
    reject = no;
  });
  done.catch(() => undefined);
  const waiter = {
    position,
    hasEnded: false,
    done,
    read: async ({ upTo }: { upTo: number }) => {
      waiter.position = Math.max(waiter.position, upTo);
    },
    endIfDone: () => undefined,
    fail: (error: unknown) => {
      waiter.hasEnded = true;
      reject(error);
    },
    lookAtLongDue: async () => undefined,
  };
  return waiter as unknown as Waiter;
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

test("a call that catches up while the reader of all calls fails gets the same error", async () => {
  const { context, transact, close } = await openTest({ tables: [cells] });
  try {
    await transact((tx) => tx.set(cells.value, "r", 1));
    const at = await currentTimestamp(context);
    const view = viewOfFeed();
    const views: Promise<unknown>[] = [];
    const registry = {
      context,
      retrying,
      fresh: () => views.shift() ?? Promise.resolve(view),
    } as unknown as Registry;
    let toldOfCommit!: (upTo: number) => void;
    const newest = new Promise<number>((resolve) => {
      toldOfCommit = resolve;
    });
    const clock = { after: () => newest } as unknown as CommitClock;
    const { signal } = new AbortController();
    const tail = new EntryTail(registry, clock, record, at);
    const first = tail.wait(waiterAt(at), signal).catch((error: unknown) => error);
    await turn();
    // The second call is for an older commit, and reads the entries up to where the first one is.
    let letCatchUp!: () => void;
    views.push(
      new Promise((resolve) => {
        letCatchUp = () => resolve(view);
      }),
    );
    const second = tail.wait(waiterAt(at - 10), signal).catch((error: unknown) => error);
    await turn();
    const failure = new StoreError("The store is away.", { retryable: true });
    const failed = Promise.reject(failure);
    failed.catch(() => undefined);
    views.push(failed);
    toldOfCommit(at + 1);
    expect(await first).toBe(failure);
    letCatchUp();
    expect(await second).toBe(failure);
  } finally {
    await close();
  }
});

test("an entry that is half read counts as damaged only if it was not removed", async () => {
  const { context, transact, close } = await openTest({ tables: [cells] });
  try {
    await transact((tx) => tx.set(cells.value, "r", 1));
    const at = await currentTimestamp(context);
    const view = viewOfFeed();
    const reload = vi.fn(async () => view);
    const registry = { context, retrying, reload };
    const clock = { after: async () => at + 1 } as unknown as CommitClock;
    vi.spyOn(context.store, "readRange").mockRejectedValue(new StoreDamagedError("half an entry"));
    const wait = () =>
      new EntryTail(registry as unknown as Registry, clock, record, at).wait(
        waiterAt(at),
        new AbortController().signal,
      );
    await expect(wait()).rejects.toMatchObject({ code: "STORE_DAMAGED" });
    await raiseMark(context.store, name, "floor", at + 1);
    await expect(wait()).rejects.toMatchObject({ code: "STALE_SNAPSHOT" });
    view.feedRecords.clear();
    await expect(wait()).rejects.toMatchObject({ code: "STALE_SNAPSHOT" });
    expect(reload).toHaveBeenCalledTimes(3);
  } finally {
    vi.restoreAllMocks();
    await close();
  }
});
