import { int, open, table } from "percolatordb";
import { memoryStore } from "percolatordb/memory";
import { expect, test } from "vitest";
import type { AtomicStore, RowStore } from "../../src/store/index.js";

const numbers = table("numbers", { value: int() });

/** A store that answers no commit of a program once it is told so, but to say that it was given up. */
function stuckStore(store: RowStore) {
  const atomic = store.atomic!;
  let isStuck = false;
  const commit: AtomicStore["commit"] = (batch, options) => {
    if (!isStuck) return atomic.commit(batch, options);
    return new Promise((_, reject) => {
      options?.signal?.addEventListener("abort", () => reject(options.signal!.reason), { once: true });
    });
  };
  const stuck: RowStore = Object.create(store, {
    capabilities: { value: store.capabilities },
    description: { value: store.description },
    atomic: { value: { counter: () => atomic.counter(), next: () => atomic.next(), commit } },
    lending: { value: undefined },
  });
  for (const name of [
    "prepare",
    "readRow",
    "readRange",
    "readRaw",
    "mutate",
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
  };
}

test.each(["timeoutMs", "signal"])(
  "a commit in one batch that the store does not answer ends by its %s",
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
