import type { RowStore } from "../store/index.js";
import { batchTests, noBatchTests } from "./conformance/batches.js";
import type { Declare, TestRunner } from "./conformance/harness.js";
import { mutationTests } from "./conformance/mutations.js";
import { orderTests } from "./conformance/order.js";
import { pageTests } from "./conformance/pages.js";
import { randomTests } from "./conformance/random.js";
import { requestTests } from "./conformance/requests.js";
import { viewTests } from "./conformance/views.js";
import { zeroCopyTests } from "./conformance/zero-copy.js";

export type { TestRunner } from "./conformance/harness.js";

/** What {@link storeConformance} is told of a store, and the test runner to use. */
export interface StoreConformanceOptions extends TestRunner {
  /** What the store under test declares; every claim is tested, and every claim of absence. */
  readonly atomicBatches: boolean;
  /** Seeds of the random tests. Default: three. */
  readonly seeds?: readonly number[] | undefined;
  /** Requests of each random test. Default: 250. */
  readonly steps?: number | undefined;
}

/**
 * Declares the tests that every {@link RowStore} has to pass, one for each sentence of the contract, and random
 * requests beside a naive store. `open` gives a new, empty store each time it is called; the suite closes it.
 * `describe` and `it` are those of vitest, of `node:test`, or of any runner like them; nothing else is asked of it.
 *
 * @example
 * import { describe, it } from "vitest";
 * import { memoryStore } from "percolatordb/memory";
 * import { storeConformance } from "percolatordb/testing";
 *
 * storeConformance("the memory store", () => memoryStore(), { describe, it, atomicBatches: true });
 */
export function storeConformance(
  name: string,
  open: () => RowStore | Promise<RowStore>,
  options: StoreConformanceOptions,
): void {
  const { describe, it } = options;
  const test: Declare = (sentence, body) => {
    it(sentence, async () => {
      const store = await open();
      try {
        await body(store);
      } finally {
        await store.close();
      }
    });
  };
  describe(`${name} keeps the row-store contract`, () => {
    describe("order", () => orderTests(test));
    describe("views", () => viewTests(test));
    describe("pages", () => pageTests(test));
    describe("zero-copy reads", () => zeroCopyTests(test));
    describe("mutations", () => mutationTests(test));
    describe("batches", () => (options.atomicBatches ? batchTests(test) : noBatchTests(test)));
    describe("requests", () => requestTests(test));
    describe("random requests", () => randomTests(test, options.seeds ?? [1, 2, 3], options.steps ?? 250));
  });
}
