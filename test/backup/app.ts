import type { Database, Snapshot } from "percolatordb";
import { expect } from "vitest";
import { groupOf, items, sums } from "./load.js";

/** Everything that a program can see in the database. */
export async function contents(snapshot: Snapshot): Promise<object> {
  const found: Record<string, unknown> = {};
  for await (const { row, value } of snapshot.scan(items)) found[`items/${row}`] = value;
  for await (const { row, value } of snapshot.scan(sums)) found[`sums/${row}`] = value;
  return found;
}

/** The sums as the items say. */
async function twin(snapshot: Snapshot): Promise<Record<string, number>> {
  const found: Record<string, number> = {};
  for await (const { row, value } of snapshot.scan(items.value)) {
    found[groupOf(row)] = (found[groupOf(row)] ?? 0) + value;
  }
  return found;
}

/** Handles what is due, and compares the derived table with its twin. */
export async function checkContinued(db: Database): Promise<void> {
  expect(await db.check()).toEqual([]);
  await db.drain();
  expect(await db.check()).toEqual([]);
  const parked: unknown[] = [];
  for await (const each of db.parked()) parked.push(each);
  expect(parked).toEqual([]);
  await using snapshot = await db.snapshot();
  const derived: Record<string, number> = {};
  for await (const { row, value } of snapshot.scan(sums.sum)) if (value !== 0) derived[row] = value;
  const expected = Object.entries(await twin(snapshot)).filter(([, sum]) => sum !== 0);
  expect(derived).toEqual(Object.fromEntries(expected));
}
