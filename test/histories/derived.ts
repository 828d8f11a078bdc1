import { type Database, int, observer, table } from "percolatordb";
import { lists, registers } from "./transactions.js";

/**
 * Data that observers derive while clients write. No client reads it, so it is not part of a
 * history.
 */
export const derived = table("derived", { count: int(), copy: int() });

const count = observer("count", lists.elements, (tx, { row, value }) =>
  tx.set(derived.count, row, value?.length ?? 0),
);
const copy = observer("copy", registers.value, (tx, { row, value }) => tx.set(derived.copy, row, value ?? 0));

export const observers = [count, copy];

/**
 * Waits until nothing is due. Then returns the problems that `check` finds, and each derived value
 * that does not agree with its source. There must be none, even if processes were killed.
 */
export async function findUnsound(db: Database): Promise<readonly string[]> {
  await db.drain();
  const problems = (await db.check()).map((problem) => JSON.stringify(problem));
  await using snapshot = await db.snapshot();
  const expected = new Map<string, number>();
  for await (const { row, value } of snapshot.scan(lists.elements))
    expected.set(`count of ${row}`, value.length);
  for await (const { row, value } of snapshot.scan(registers.value)) expected.set(`copy of ${row}`, value);
  for await (const { row, value } of snapshot.scan(derived)) {
    for (const [name, found] of Object.entries(value)) {
      const what = `${name} of ${row}`;
      if (expected.get(what) !== found) problems.push(`The ${what} is ${found}, not ${expected.get(what)}.`);
      expected.delete(what);
    }
  }
  for (const what of expected.keys()) problems.push(`There is no ${what}.`);
  return problems;
}
