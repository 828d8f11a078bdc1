import { expect, test } from "vitest";
import type { Database } from "../database/index.js";
import { systemEnvironment } from "../environment/index.js";
import { countBacklog, observerBacklogs } from "./backlog.js";
import { readOfEach } from "./read-within.js";

const { signal: open } = new AbortController();
/** Time is over at once. */
const hasty = {
  ...systemEnvironment,
  setTimer: (callback: () => void) => {
    queueMicrotask(callback);
    return { cancel: () => {} };
  },
};

interface Listing {
  readonly observer: string;
  readonly signal: AbortSignal;
}

/** A database with one observer, whose lists are given. It counts what is read. */
function databaseOf(lists: {
  readonly pending?: () => Iterable<unknown>;
  readonly parked: (signal: AbortSignal) => AsyncIterable<unknown>;
}) {
  const read = { parked: 0 };
  const db = {
    observers: async () => new Map([["approve", { name: "approve" }]]),
    async *pending() {
      yield* lists.pending?.() ?? [];
    },
    async *parked({ signal }: Listing) {
      for await (const each of lists.parked(signal)) {
        read.parked++;
        yield each;
      }
    },
  };
  return { db: db as unknown as Database, read };
}

async function* endless() {
  for (let at = 1; ; at++) yield { parkedAt: new Date(at * 1_000) };
}

/** Entries that are no changes any more: it reads on and on and yields nothing. */
async function* nothing(signal: AbortSignal): AsyncGenerator<never> {
  await new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    signal.addEventListener("abort", () => reject(signal.reason));
  });
}

const max = { pending: 10, parked: 1_000 };

test("of a million parked changes only as many are read as are counted, and one more", async () => {
  const { db, read } = databaseOf({ parked: endless });
  const [approve] = await observerBacklogs(db, systemEnvironment, max, open);
  expect(approve!.parked).toEqual({ count: 1_000, more: true, oldest: new Date(1_000) });
  expect(read.parked).toBe(1_001);
});

test("the count ends when its time is over, although nothing comes to be counted", async () => {
  const { db } = databaseOf({ parked: nothing });
  const [approve] = await observerBacklogs(db, hasty, max, open);
  expect(approve!.parked).toEqual({ count: 0, more: true, oldest: undefined });
});

test("the count fails if the dashboard closes, and if the store does", async () => {
  const closing = new AbortController();
  closing.abort(new Error("closed"));
  await expect(
    observerBacklogs(databaseOf({ parked: nothing }).db, systemEnvironment, max, closing.signal),
  ).rejects.toThrow("closed");
  const broken = databaseOf({
    // biome-ignore lint/correctness/useYield: it fails at once.
    async *parked() {
      throw new Error("damaged");
    },
  });
  await expect(observerBacklogs(broken.db, systemEnvironment, max, open)).rejects.toThrow("damaged");
});

test("pending changes that failed are counted, and what a stopped run left has no age", async () => {
  const since = new Date(5_000);
  const all = [
    { since: new Date(0), crashes: 0 },
    { since, crashes: 0, lastError: "Error: no" },
    // One process ended while it was due, and nothing failed.
    { since: new Date(9_000), crashes: 1 },
    { since: new Date(9_000), crashes: 2 },
  ];
  const { db } = databaseOf({ pending: () => all, parked: async function* () {} });
  const [approve] = await observerBacklogs(db, systemEnvironment, max, open);
  expect(approve).toMatchObject({ retrying: 2, pending: { count: 4, more: false, oldest: since } });
  const only = (async function* () {
    yield new Date(0);
  })();
  expect(await countBacklog(only, (each) => each, 1)).toEqual({ count: 1, more: false, oldest: undefined });
});

test("an observer with very many changes hides no other one", async () => {
  const used: string[] = [];
  const time = { environment: systemEnvironment, closing: open, timeMs: 60_000, doing: "Reading" };
  const list = async function* (observer: string) {
    for (let at = 0; observer === "a" || at < 2; at++) yield `${observer}${at}`;
  };
  expect(await readOfEach(["a", "b"], 3, time, list, (item) => used.push(item))).toBe(true);
  expect(used.toSorted()).toEqual(["a0", "a1", "a2", "b0", "b1"]);
  expect(await readOfEach(["b"], 2, time, list, () => {})).toBe(false);
});

test("an observer that is slow to list leaves time to the others", async () => {
  const used: string[] = [];
  const ending = new AbortController();
  // The time is over when the other one has been read.
  const environment = {
    ...systemEnvironment,
    setTimer: (callback: () => void) => {
      ending.signal.addEventListener("abort", callback);
      return { cancel: () => {} };
    },
  };
  const time = { environment, closing: open, timeMs: 3_000, doing: "Reading" };
  const list = (observer: string, signal: AbortSignal | undefined) =>
    observer === "a"
      ? nothing(signal!)
      : (async function* () {
          yield observer;
          ending.abort();
        })();
  expect(await readOfEach(["a", "b"], 3, time, list, (item: string) => used.push(item))).toBe(true);
  expect(used).toEqual(["b"]);
});

test("a store that fails is no bound", async () => {
  const time = { environment: systemEnvironment, closing: open, timeMs: 60_000, doing: "Reading" };
  const list = async function* (observer: string) {
    if (observer === "b") throw new Error("damaged");
    yield observer;
  };
  await expect(readOfEach(["a", "b"], 3, time, list, () => {})).rejects.toThrow("damaged");
});
