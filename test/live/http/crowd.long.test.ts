import { expect, test } from "vitest";
import { collectGarbage } from "../../support/garbage.js";
import { serveCrowd } from "./support/crowd.js";

/** Bytes in use, after garbage collection. */
function usedBytes(): number {
  collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

test("2,000 clients, half of them slow or dying: the others are served, and nothing is left of any", async () => {
  await serveCrowd({ healthy: 1_000, slow: 200, dying: 800 }, "2,000 clients");
  const before = usedBytes();
  await serveCrowd({ healthy: 1_000, slow: 200, dying: 800 }, "2,000 other clients");
  // Less than 3 KB for each client. What a connection takes is more.
  expect(usedBytes() - before).toBeLessThan(6_000_000);
}, 600_000);
