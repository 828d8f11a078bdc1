import { family, feed, int, open, table, text } from "percolatordb";
import { expect, test } from "vitest";
import { customerFeed, customers } from "./tables.js";
import { writeMutations } from "./write.js";

const stock = table("stock", { count: int(), tags: family(text()) });
const stockFeed = feed("stock-feed", [stock.count, stock.tags]);
const everything = async () => undefined;

test("deletes the cells of families, and refuses to write them", async () => {
  await using db = await open("memory:", { feeds: [stockFeed] });
  await db.transact((tx) => tx.set(stock.tags.at("color"), "s1", "red"));
  const mutation = { table: "stock", row: "s1", removed: [] };
  const update = { ...mutation, type: "update", values: { tags: "red" } };
  await expect(writeMutations(db, [stockFeed], { mutations: [update] }, everything)).rejects.toMatchObject({
    code: "UNKNOWN_COLUMN",
    message: "Clients may not write stock.tags.",
  });
  const remove = { ...mutation, type: "delete", values: {} };
  const timestamp = await writeMutations(db, [stockFeed], { mutations: [remove] }, everything);
  const [newest] = await db.history(stock.tags.at("color"), "s1");
  expect([newest?.commitTimestamp, newest?.value]).toEqual([timestamp, undefined]);
});

const name = { type: "insert", values: { name: "X" } };
const city = { type: "update", values: { city: "Y" } };
test.each([
  ["two inserts of a row", undefined, name, { ...city, type: "insert" }],
  ["an update of a row and its deletion", "old", { type: "delete", values: {} }, city],
])("refuses one of %s that meet", async (_, before, one, other) => {
  await using db = await open("memory:", { feeds: [customerFeed] });
  if (before !== undefined) await db.transact((tx) => tx.set(customers.name, "c9", before));
  let arrived = 0;
  let go = () => {};
  const bothHaveRead = new Promise<void>((resolve) => {
    go = resolve;
  });
  const check = async () => {
    if (++arrived === 2) go();
    await bothHaveRead;
  };
  const write = (mutation: object) => {
    const mutations = [{ table: "customers", row: "c9", removed: [], ...mutation }];
    return writeMutations(db, [customerFeed], { mutations }, check);
  };
  const ends = await Promise.allSettled([write(one), write(other)]);
  expect(ends.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
});
