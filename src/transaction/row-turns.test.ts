import { expect, test } from "vitest";
import { bareContext } from "../../test/support/context.js";
import { systemEnvironment } from "../environment/index.js";
import { int, table } from "../schema/index.js";
import { memoryStore } from "../store/memory/index.js";
import { RowTurns } from "./row-turns.js";
import { Snapshot } from "./snapshot.js";
import { transact } from "./transact.js";

const counters = table("counters", { value: int() });

test.each(["one-phase", "two-phase"] as const)(
  "many who write one row at a time conflict about once each (%s)",
  async (commit) => {
    const context = bareContext(memoryStore(), { commit });
    let conflicts = 0;
    context.events.on("conflict", () => conflicts++);
    const turn = () => new Promise((resolve) => setImmediate(resolve));
    let left = 200;
    const client = async () => {
      while (left-- > 0) {
        await transact(context, async (tx) => {
          const value = (await tx.get(counters.value, "hot")) ?? 0;
          for (let turns = 0; turns < 5; turns++) await turn();
          tx.set(counters.value, "hot", value + 1);
        });
      }
    };
    await Promise.all(Array.from({ length: 64 }, client));
    await using snapshot = new Snapshot(context, await context.oracle.next());
    expect(await snapshot.get(counters.value, "hot")).toBe(200);
    expect(conflicts / 200).toBeLessThan(3);
  },
);

test("turns are given in order, one at a time, and nothing is kept of them", async () => {
  const turns = new RowTurns();
  const order: number[] = [];
  const one = await turns.take(systemEnvironment, "row", undefined);
  const rest = [2, 3].map(async (number) => {
    const end = await turns.take(systemEnvironment, "row", undefined);
    order.push(number);
    end();
  });
  const controller = new AbortController();
  const gaveUp = turns.take(systemEnvironment, "row", controller.signal);
  controller.abort();
  (await gaveUp)();
  expect(order).toEqual([]);
  one();
  await Promise.all(rest);
  await new Promise((resolve) => setImmediate(resolve));
  expect([order, turns.size]).toEqual([[2, 3], 0]);
});
