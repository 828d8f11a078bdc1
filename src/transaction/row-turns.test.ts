import { getEventListeners } from "node:events";
import { expect, test } from "vitest";
import { bareContext } from "../../test/support/context.js";
import { countingOracle } from "../../test/support/distant-store.js";
import { TestEnvironment } from "../../test/support/observer/environment.js";
import { systemEnvironment } from "../environment/index.js";
import { int, table } from "../schema/index.js";
import { memoryStore } from "../store/memory/index.js";
import { ProcessStore } from "../testing/kit/index.js";
import { Snapshot } from "./read/snapshot.js";
import { RowTurns } from "./row-turns.js";
import { type TransactOptions, transact } from "./transact.js";

const counters = table("counters", { value: int() });

/**
 * Returns how many conflicts there are for each commit, on a store of one-row mutations. Each
 * request to the store takes a millisecond.
 */
async function conflictsPerCommit(options: TransactOptions): Promise<number> {
  const environment = new TestEnvironment();
  const store = new ProcessStore(memoryStore({ atomicBatches: false }), environment, { delayMs: 1 });
  const bare = bareContext(store, { commit: "two-phase", lockTtlMs: 60_000 });
  const turns = new RowTurns(environment);
  const context = { ...bare, oracle: countingOracle(), environment, turns };
  let conflicts = 0;
  context.events.on("conflict", () => conflicts++);
  let left = 200;
  const client = async () => {
    while (left-- > 0) {
      await transact(
        context,
        async (tx) => {
          tx.set(counters.value, "hot", ((await tx.get(counters.value, "hot")) ?? 0) + 1);
        },
        options,
      );
    }
  };
  await environment.until(Promise.all(Array.from({ length: 64 }, client)));
  const snapshot = new Snapshot(context, await context.oracle.next());
  expect(await environment.until(snapshot.get(counters.value, "hot"))).toBe(200);
  await snapshot.close();
  expect(turns.size).toBe(0);
  return conflicts / 200;
}

test.each([
  ["by themselves", {}],
  ["with a signal", { signal: new AbortController().signal }],
  ["with a deadline", { timeoutMs: 3_600_000 }],
])("of many callers that write one row at a time, %s, few conflict", async (_, options) => {
  expect(await conflictsPerCommit(options)).toBeLessThan(3);
});

test("turns are given in order, one at a time, and leave nothing in memory", async () => {
  const turns = new RowTurns(systemEnvironment);
  const order: number[] = [];
  const one = await turns.take("row", undefined);
  const rest = [2, 3].map(async (number) => {
    const end = await turns.take("row", undefined);
    order.push(number);
    end();
  });
  const controller = new AbortController();
  const gaveUp = turns.take("row", controller.signal);
  controller.abort();
  (await gaveUp)();
  (await turns.take("row", controller.signal))();
  expect(order).toEqual([]);
  one();
  one();
  await Promise.all(rest);
  expect([order, turns.size]).toEqual([[2, 3], 0]);
});

test("a turn that does not end is over after 5 s, for one waiting caller at a time", async () => {
  const environment = new TestEnvironment();
  const turns = new RowTurns(environment);
  const begun: number[] = [];
  for (const number of [1, 2, 3]) turns.wait("row", () => begun.push(number));
  expect(begun).toEqual([1]);
  await environment.advance(4_999);
  expect(begun).toEqual([1]);
  await environment.advance(1);
  expect(begun).toEqual([1, 2]);
  await environment.advance(4_999);
  expect(begun).toEqual([1, 2]);
  await environment.advance(1);
  expect(begun).toEqual([1, 2, 3]);
});

test("a turn that begins at once leaves no listener on the caller's signal", async () => {
  const turns = new RowTurns(systemEnvironment);
  const { signal } = new AbortController();
  for (let turn = 0; turn < 3; turn++) (await turns.take("row", signal))();
  expect(getEventListeners(signal, "abort")).toEqual([]);
});
