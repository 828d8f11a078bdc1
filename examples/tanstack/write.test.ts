import { family, feed, int, open, table, text } from "percolatordb";
import { expect, test } from "vitest";
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
