import { describe, expect, test } from "vitest";
import { memoryStore } from "../store/memory/index.js";
import { openTest } from "./test-context.js";
import { documents, length } from "./test-documents.js";
import { TestEnvironment } from "./test-environment.js";

/** The oracle of a store that cannot count: the counter of another. */
function separateOracle() {
  const counting = memoryStore().atomic!;
  return {
    next: (options?: { readonly signal?: AbortSignal | undefined }) => counting.next(options),
    latest: () => counting.counter(),
  };
}

describe("idle on a store of one-row mutations", () => {
  test("drain ends where the registry is read anew each time", async () => {
    const environment = new TestEnvironment();
    const db = await openTest({
      store: memoryStore({ environment, atomicBatches: false }),
      environment,
      commit: "two-phase",
      oracle: separateOracle(),
      observers: [length],
      cacheMs: 0,
    });
    await environment.until(db.pool.drain());
    await db.transact((tx) => tx.set(documents.contents, "a", "abc"));
    await environment.until(db.pool.drain());
    expect(await db.transact((tx) => tx.get(documents.length, "a"))).toBe(3);
    await environment.until(db.close());
  });
});
