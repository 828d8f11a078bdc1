import { expect, test } from "vitest";
import { openTest } from "../../../test/support/observer/context.js";
import { rowObservers } from "../../observer/index.js";
import { currentTimestamp } from "../../oracle/index.js";
import { int, table } from "../../schema/index.js";
import { dueOfOlder } from "./due-then.js";

const names = ["a", "b", "c", "d"] as const;
const columns = () => ({ a: int(), b: int(), c: int(), d: int() });
const stages = Array.from({ length: 5 }, (_, stage) => table(`stage${stage}`, columns()));

/** Each stage copies all columns of a row to the next one, in one run. */
const copies = stages.slice(1).flatMap((to, stage) => {
  const from = stages[stage]!;
  return rowObservers(
    `to-${stage + 1}`,
    names.map((name) => from[name]),
    async (tx, { row }) => {
      for (const name of names) tx.set(to[name], row, (await tx.get(from[name], row))!);
    },
  );
});

test("a run that handled several changes of a commit is followed once", async () => {
  const db = await openTest({ tables: stages, observers: copies });
  let commitTimestamp = 0;
  await db.transact((tx) => {
    for (const name of names) tx.set(stages[0]![name], "r", 1);
    tx.onCommit((timestamp) => {
      commitTimestamp = timestamp;
    });
  });
  await db.pool.drain();
  const asked: string[] = [];
  const counts = (name: string) => asked.push(name) > 0;
  const position = await currentTimestamp(db.context);
  const start = await dueOfOlder(db.registry, { commitTimestamp, counts, signal: undefined }, position);
  expect(start).toEqual({ position, due: [] });
  expect(asked.sort()).toEqual(copies.map(({ name }) => name).sort());
  await db.close();
});
