import { InvalidArgumentError } from "../errors/index.js";
import type { RowStore } from "../store/index.js";
import { batchTests, noBatchTests } from "./conformance/batches.js";
import { fillTests } from "./conformance/fills.js";
import type { Declare, TestRunner } from "./conformance/harness.js";
import { mutationTests } from "./conformance/mutations.js";
import { orderTests } from "./conformance/order.js";
import { pageTests } from "./conformance/pages.js";
import { randomTests } from "./conformance/random.js";
import { requestTests } from "./conformance/requests.js";
import { viewTests } from "./conformance/views.js";
import { zeroCopyTests } from "./conformance/zero-copy.js";

export type { TestRunner } from "./conformance/harness.js";

/** The options of {@link storeConformance}: what the store claims, and the test runner. */
export interface StoreConformanceOptions extends TestRunner {
  /**
   * Whether the store under test declares `atomicBatches`. If true, the suite tests the batches. If
   * false, it tests that the store has no `atomic`.
   */
  readonly atomicBatches: boolean;
  /** Seeds of the random tests. Default: three seeds. */
  readonly seeds?: readonly number[] | undefined;
  /** Number of requests in each random test. Default: 250. */
  readonly steps?: number | undefined;
}

/**
 * Declares the tests that every {@link RowStore} must pass: one for each sentence of the contract,
 * and random requests that are compared with a naive store. `open` must return a new, empty store
 * at each call. The suite closes that store. `describe` and `it` are those of vitest, `node:test`,
 * or any similar runner. The suite needs no other part of the runner.
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
  const { describe, it, seeds = [1, 2, 3], steps = 250 } = options;
  if (!(steps >= 0))
    throw new InvalidArgumentError(`\`steps\` must be a number of at least 0, not ${String(steps)}.`);
  const test: Declare = (sentence, body) => {
    it(sentence, async () => {
      const store = await open();
      try {
        await body(store);
      } catch (error) {
        // What broke the contract says more than the close after it.
        await Promise.resolve(store.close()).catch(() => undefined);
        throw error;
      }
      await store.close();
    });
  };
  describe(`${name} keeps the row-store contract`, () => {
    describe("order", () => orderTests(test));
    describe("views", () => viewTests(test));
    describe("pages", () => pageTests(test));
    describe("zero-copy reads", () => zeroCopyTests(test));
    describe("mutations", () => mutationTests(test));
    describe("batches", () => (options.atomicBatches ? batchTests(test) : noBatchTests(test)));
    if (options.atomicBatches) describe("fills", () => fillTests(test));
    describe("requests", () => requestTests(test));
    describe("random requests", () => randomTests(test, seeds, steps));
  });
}
