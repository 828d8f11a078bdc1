import { expect, test } from "vitest";
import { DistantTestStore, distantContext } from "../../../test/support/distant-store.js";
import { family, int, table } from "../../schema/index.js";
import { StepHooks } from "../../testing/index.js";
import { transact } from "../transact.js";

const people = table("people", { visits: family(int()) });
const qualifierOf = (index: number) => String(index).padStart(4, "0");

test("a limit on a family's cells passes over many deleted ones in a few reads", async () => {
  const store = new DistantTestStore();
  const context = distantContext(store, new StepHooks());
  const count = 2_000;
  await transact(context, (tx) => {
    for (let index = 0; index < count; index++) tx.set(people.visits.at(qualifierOf(index)), "a", index);
  });
  await transact(context, (tx) => {
    for (let index = 0; index < count - 3; index++) tx.delete(people.visits.at(qualifierOf(index)), "a");
  });
  await context.background.settled();
  const found = async (limit: number) => {
    store.reads.length = 0;
    const values: number[] = [];
    await transact(context, async (tx) => {
      values.length = 0;
      for await (const { value } of tx.entries(people.visits, "a", { limit })) values.push(value);
    });
    return [values, store.reads.filter(({ table }) => table === "people").map(({ limit }) => limit)];
  };
  expect(await found(1)).toEqual([[1_997], [1, 4, 16, 64, 256, 1_000, 1_000]]);
  expect(await found(3)).toEqual([
    [1_997, 1_998, 1_999],
    [3, 12, 48, 192, 768, 1_000],
  ]);
});
