import { type Database, int, observer, open, StoreError, table } from "percolatordb";
import { memoryStore } from "percolatordb/memory";
import { rateLimit } from "percolatordb/recipes";
import { expect, test } from "vitest";
import type { AtomicStore, RowStore } from "../../src/store/index.js";

const numbers = table("numbers", { value: int() });

/**
 * A store that stops answering writes when the test says so, or also the counter, as a PostgreSQL server
 * that cannot be reached. Until the test releases it, a write ends only if its signal is aborted.
 */
function stuckStore(store: RowStore, what: "writes" | "writes and counter" = "writes") {
  const atomic = store.atomic!;
  let isStuck = false;
  const waiting = new Set<(reason: unknown) => void>();
  const never = (signal: AbortSignal | undefined) =>
    new Promise<never>((_, reject) => {
      waiting.add(reject);
      signal?.addEventListener("abort", () => reject(signal.reason), { once: true });
    });
  const commit: AtomicStore["commit"] = (batch, options) =>
    isStuck ? never(options?.signal) : atomic.commit(batch, options);
  const mutate: RowStore["mutate"] = (mutation, options) =>
    isStuck ? never(options?.signal) : store.mutate(mutation, options);
  const counter = () => (isStuck && what !== "writes" ? never(undefined) : atomic.counter());
  const stuck: RowStore = Object.create(store, {
    capabilities: { value: store.capabilities },
    description: { value: store.description },
    atomic: { value: { counter, next: () => atomic.next(), commit } },
    zeroCopy: { value: undefined },
    mutate: { value: mutate },
  });
  for (const name of [
    "prepare",
    "readRow",
    "readRange",
    "readRaw",
    "splitPoints",
    "statistics",
    "close",
  ] as const) {
    Object.defineProperty(stuck, name, {
      value: (store[name] as (...all: unknown[]) => unknown).bind(store),
    });
  }
  return {
    stuck,
    stick: () => {
      isStuck = true;
    },
    letGo: () => {
      isStuck = false;
      for (const reject of waiting) reject(new StoreError("The store did not answer."));
    },
  };
}

test.each(["timeoutMs", "signal"])(
  "a one-batch commit that the store does not answer ends by its %s",
  async (by) => {
    const { stuck, stick } = stuckStore(memoryStore());
    await using db = await open(stuck, { tables: [numbers], collectEveryMs: 0 });
    await db.transact(async (tx) => tx.set(numbers.value, "row", 1));
    stick();
    const options = by === "signal" ? { signal: AbortSignal.timeout(50) } : { timeoutMs: 50 };
    const given = db.transact(async (tx) => tx.set(numbers.value, "row", 2), options);
    await expect(given).rejects.toMatchObject({ code: expect.stringMatching(/^(TIMEOUT|ABORTED)$/) });
    expect(await db.transact((tx) => tx.get(numbers.value, "row"))).toBe(1);
  },
);

const others = () => table("others", { value: int() });
const doubled = observer("doubled", numbers.value, (tx, { row, value = 0 }) =>
  tx.set(others().value, row, value),
);
const limit = rateLimit("limit", { perSecond: 1_000 });

/** Calls that write, and that a signal can end. */
const calls: Readonly<Record<string, (db: Database, signal: AbortSignal) => Promise<unknown>>> = {
  transact: (db, signal) => db.transact((tx) => tx.set(numbers.value, "row", 2), { signal }),
  "transact that uses a table for the first time": (db, signal) =>
    db.transact((tx) => tx.set(others().value, "row", 2), { signal }),
  "commit that uses a table for the first time": async (db, signal) => {
    const tx = await db.begin({ signal });
    tx.set(others().value, "row", 2);
    await tx.commit();
  },
  backfill: (db, signal) => db.backfill(doubled, { signal }),
  unregister: (db, signal) => db.unregister("doubled", { signal }),
  collect: (db, signal) => db.collect({ signal }),
  drain: (db, signal) => db.drain({ signal }),
  "acquire of a rate limit": (db, signal) => limit.acquire(db, "key", { signal }),
};

/**
 * The test begins these calls first, without a signal. They wait for the store. A later call that
 * must wait for its turn waits for them.
 */
const before: readonly ((db: Database) => Promise<unknown>)[] = [
  (db) => db.transact((tx) => tx.set(table("first", { value: int() }).value, "row", 2)),
  (db) => limit.acquire(db, "key"),
];

test.each(Object.entries(calls))(
  "%s ends by its signal while the store does not answer, even if it waits for its turn",
  async (_, call) => {
    const { stuck, stick, letGo } = stuckStore(memoryStore());
    const tables = [numbers, limit.table];
    await using db = await open(stuck, { tables, observers: [doubled], collectEveryMs: 0 });
    await db.transact((tx) => tx.set(numbers.value, "row", 1));
    stick();
    const stuckCalls = Promise.allSettled(before.map((each) => each(db)));
    try {
      const given = call(db, AbortSignal.timeout(50));
      await expect(given).rejects.toMatchObject({ name: expect.stringMatching(/^TimeoutError$/) });
    } finally {
      letGo();
      await stuckCalls;
    }
    expect(await db.transact((tx) => tx.get(numbers.value, "row"))).toBe(1);
  },
  10_000,
);

test.each(["transact", "begin"] as const)(
  "db.%s ends by its deadline while the store does not tell its counter",
  async (call) => {
    const { stuck, stick, letGo } = stuckStore(memoryStore(), "writes and counter");
    await using db = await open(stuck, { tables: [numbers], collectEveryMs: 0 });
    stick();
    const begun =
      call === "transact"
        ? db.transact((tx) => tx.set(numbers.value, "row", 1), { timeoutMs: 50 })
        : db.begin({ timeoutMs: 50 });
    await expect(begun).rejects.toMatchObject({ code: "TIMEOUT" });
    letGo();
  },
);
