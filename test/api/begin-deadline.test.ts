import { int, open, table } from "percolatordb";
import { memoryStore } from "percolatordb/memory";
import { expect, test } from "vitest";
import type { RowStore } from "../../src/store/index.js";

const numbers = table("numbers", { value: int() });

/** A store whose counter does not answer while it is stuck, as a PostgreSQL server that cannot be reached. */
function stuckCounter() {
  const store = memoryStore();
  const atomic = store.atomic!;
  let isStuck = false;
  let letGo = () => {};
  const waiting = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  const counter = async () => {
    if (isStuck) await waiting;
    return await atomic.counter();
  };
  const stuck: RowStore = Object.create(store, {
    capabilities: { value: store.capabilities },
    description: { value: store.description },
    atomic: {
      value: {
        counter,
        next: () => atomic.next(),
        commit: (...all: Parameters<typeof atomic.commit>) => atomic.commit(...all),
      },
    },
    zeroCopy: { value: undefined },
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
    letGo: () => {
      isStuck = false;
      letGo();
    },
  };
}

test.each(["transact", "begin"] as const)(
  "db.%s ends by its deadline while the store does not tell its counter",
  async (call) => {
    const { stuck, stick, letGo } = stuckCounter();
    await using db = await open(stuck, { tables: [numbers], collectEveryMs: 0 });
    stick();
    const given =
      call === "transact"
        ? db.transact((tx) => tx.set(numbers.value, "row", 1), { timeoutMs: 50 })
        : db.begin({ timeoutMs: 50 });
    const late = new Promise((resolve) => setTimeout(resolve, 2_000, "late"));
    try {
      expect(await Promise.race([given.catch((error: { code: string }) => error.code), late])).toBe(
        "TIMEOUT",
      );
    } finally {
      letGo();
      await given.catch(() => undefined);
    }
  },
);
