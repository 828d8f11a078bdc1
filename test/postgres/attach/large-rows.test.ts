import { int, text, tuple } from "percolatordb";
import { attach, attachedTables, attachTables } from "percolatordb/postgres";
import { afterAll, beforeAll, expect, test } from "vitest";
import { rowLimit } from "../../../src/postgres/attach/changes/large-row.js";
import { openAlone } from "../../support/databases.js";
import { storeAt } from "../../support/postgres/index.js";
import { rowsOf, Shop } from "./shop.js";

// A row beyond the real limit would take gigabytes of memory.
const { maxBytes } = rowLimit;
beforeAll(() => {
  rowLimit.maxBytes = 1024 * 1024;
});
afterAll(() => {
  rowLimit.maxBytes = maxBytes;
});

const error =
  /A row of .*photos" has 2 MiB of JSON, with the columns that are not followed\. A worker reads at most 1 MiB/;

async function withPhotos() {
  const shop = await Shop.create();
  await shop.sql(`create table T.photos (id int primary key, title text, photo text, more json);
    create table T.titles (id int primary key, title text)`);
  const photos = attach(`${shop.schema}.photos`, { key: tuple(int()), columns: { title: text() } });
  const titles = attach(`${shop.schema}.titles`, { key: tuple(int()), columns: { title: text() } });
  const db = await openAlone(await storeAt(shop.place), { tables: [photos, titles] });
  return { shop, photos, titles, db };
}

const large = "repeat('x', 2 * 1024 * 1024)";

test.each([
  ["", "null"],
  [" and has a character that the server cannot show", String.raw`'"\u0000"'`],
])("a written row that is too large to read%s parks its table, and the others go on", async (_, more) => {
  const { shop, photos, titles, db } = await withPhotos();
  await using _shop = shop;
  await using _db = db;
  await attachTables(db, [photos, titles]);
  await db.drain();
  await shop.sql(`insert into T.photos values (1, 'small', 'x'); insert into T.photos values (2, 'large', ${large}, ${more});
    insert into T.titles values (1, 'a')`);
  await expect(db.drain()).rejects.toMatchObject({ code: "SCHEMA", message: expect.stringMatching(error) });
  await db.drain().catch(() => undefined);
  expect(await rowsOf(db, titles)).toEqual([[1, { title: "a" }]]);
  expect(await shop.pending()).toBe(0);
  await shop.sql("update T.photos set photo = 'y' where id = 2");
  await attachTables(db, [photos]);
  await db.drain();
  expect(await rowsOf(db, photos)).toEqual([
    [1, { title: "small" }],
    [2, { title: "large" }],
  ]);
});

test("a row that exists and is too large to read parks its table, and the others are copied", async () => {
  const { shop, photos, titles, db } = await withPhotos();
  await using _shop = shop;
  await using _db = db;
  await shop.sql(`insert into T.photos values (1, 'small', 'x'), (2, 'large', ${large}), (3, 'small', 'z');
    insert into T.titles values (1, 'a')`);
  await attachTables(db, [photos, titles]);
  await expect(db.drain()).rejects.toThrow(error);
  await db.drain().catch(() => undefined);
  expect(await rowsOf(db, titles)).toEqual([[1, { title: "a" }]]);
  const [status] = await attachedTables(db, [photos]);
  expect(status).toMatchObject({ parked: { error: expect.stringMatching(error) } });
  await shop.sql("delete from T.photos where id = 2");
  await attachTables(db, [photos]);
  await db.drain();
  expect(await rowsOf(db, photos)).toEqual([
    [1, { title: "small" }],
    [3, { title: "small" }],
  ]);
});
