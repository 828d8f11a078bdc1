import { open } from "percolatordb";
import { expect, test } from "vitest";
import { Commits, numbers, Queries } from "./live.js";

test("a live query that fails fails the measurement", async () => {
  await using db = await open("memory:");
  const commits = new Commits();
  const queries = new Queries(commits);
  const error = new Error("This query cannot be read.");
  let reads = 0;
  await queries.open(db, async (snapshot) => {
    const value = await snapshot.get(numbers.value, "row");
    if (++reads > 1) throw error;
    return value ?? -1;
  });
  await commits.commit(db, "row");
  await expect.poll(() => queries.failure, { timeout: 10_000 }).toBe(error);
  await expect(queries.close()).rejects.toBe(error);
});

test("a query that the measurement ends has not failed", async () => {
  await using db = await open("memory:");
  const queries = new Queries(new Commits());
  await queries.open(db, async () => 0);
  await queries.close();
});
