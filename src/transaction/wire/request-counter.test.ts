import { expect, test } from "vitest";
import { Metrics } from "../../events/index.js";
import { int, table } from "../../schema/index.js";
import { memoryStore } from "../../store/memory/index.js";
import { DistantTestStore, distantContext } from "../test-distant-store.js";
import { transact } from "../transact.js";
import { countRequests, countTimestamps } from "./request-counter.js";

const accounts = table("accounts", { balance: int() });

test("each request to a distant store and its oracle is counted by its kind", async () => {
  const bare = distantContext(new DistantTestStore());
  const metrics = new Metrics(bare.events);
  const store = countRequests(bare.store, bare.events);
  const context = { ...bare, store, oracle: countTimestamps(bare.oracle, bare.events) };
  for (let round = 0; round < 2; round++) {
    await transact(context, async (tx) => {
      const balances = await tx.getMany(accounts.balance, ["a", "b", "c"]);
      for (const row of ["a", "b"]) tx.set(accounts.balance, row, balances.length);
      for await (const _ of tx.scan(accounts.balance)) break;
    });
    await context.background.settled();
  }
  const { requests } = metrics.snapshot();
  // A safepoint that was read is kept for a while by other contexts; by this one it is read each time.
  expect(requests.read).toBeGreaterThanOrEqual(6);
  expect(requests).toMatchObject({ scan: 2, conditionalMutation: 8, plainMutation: 0, timestamp: 4 });
  expect(requests.total).toBe(requests.read + 14);
  expect(requests.perTransaction).toBe(requests.total / 2);
});

test("a store in this process stays as it is", () => {
  const store = memoryStore();
  expect(countRequests(store, distantContext(new DistantTestStore()).events)).toBe(store);
});
