import { family, float, int, open, table, text, tuple } from "percolatordb";
import { postgresViews } from "percolatordb/postgres";
import { Pool } from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { newPlace, type PostgresPlace, removePlace } from "../../support/postgres/index.js";

/** So many that a scan of the table is never the cheapest plan. */
const rows = 20_000;
const documents = table("documents", { length: int(), title: text(), marks: family(int()) });
const lines = table("lines", { price: float() }, { key: tuple(text(), int()) });

let place: PostgresPlace;
let pool: Pool;

beforeAll(async () => {
  place = await newPlace();
  pool = new Pool({ host: place.host, user: "postgres", database: "postgres", max: 2 });
  await using db = await open(place.location, { tables: [documents, lines] });
  for (let from = 0; from < rows; from += 5_000) {
    await db.transact((tx) => {
      for (let i = from; i < from + 5_000; i++) {
        tx.set(documents.length, `d${String(i).padStart(6, "0")}`, i);
        tx.set(documents.title, `d${String(i).padStart(6, "0")}`, `title ${i}`);
        tx.set(documents.marks.at(`m${i % 3}`), `d${String(i).padStart(6, "0")}`, i);
        tx.set(lines.price, [`c${i % 1_000}`, i], i);
      }
    });
  }
  for (let i = 0; i < 5; i++) await db.transact((tx) => tx.set(documents.length, "d000007", -i));
  await postgresViews(db, [documents, lines], {
    schema: "plan views",
    keys: { lines: ["customer", "line"] },
  });
});

afterAll(async () => {
  await pool.query('drop schema if exists "plan views" cascade');
  await pool.end();
  await removePlace(place);
});

interface Plan {
  readonly "Node Type": string;
  readonly "Relation Name"?: string;
  readonly "Index Name"?: string;
  readonly "Actual Rows": number;
  readonly "Actual Loops": number;
  readonly "Rows Removed by Filter"?: number;
  readonly "Rows Removed by Index Recheck"?: number;
  readonly Plans?: readonly Plan[];
}

/** The indexes that a query uses, and how many entries of `cells` it looks at. */
async function lookAt(query: string, values: readonly unknown[] = []) {
  const { rows: found } = await pool.query(`explain (analyze, format json) ${query}`, [...values]);
  const nodes: Plan[] = [];
  const walk = (plan: Plan) => {
    nodes.push(plan);
    for (const each of plan.Plans ?? []) walk(each);
  };
  walk(found[0]["QUERY PLAN"][0].Plan);
  const entries = nodes
    .filter((node) => node["Relation Name"] === "cells")
    .map(
      (node) =>
        node["Actual Loops"] *
        (node["Actual Rows"] +
          (node["Rows Removed by Filter"] ?? 0) +
          (node["Rows Removed by Index Recheck"] ?? 0)),
    );
  return {
    indexes: nodes.flatMap((node) => node["Index Name"] ?? []),
    looked: entries.reduce((sum, each) => sum + each, 0),
    shown: nodes[0]!["Actual Rows"],
    kinds: nodes.map((node) => node["Node Type"]),
  };
}

const view = (name: string) => `"plan views".${name}`;
const ofKeys = expect.stringMatching(/^view_\d+$/);

test.each([
  ["an equal key", "key = 'd000009'", [], 1, 3],
  ["an equal key with five newer versions", "key = 'd000007'", [], 1, 8],
  ["a parameter", "key = $1", ["d000009"], 1, 3],
  ["one of several keys", "key in ('d000001', 'd000002', 'none')", [], 2, 6],
  ["a prefix", "key like 'd0001%'", [], 100, 300],
  ["a prefix as a parameter", "key like $1", ["d0001%"], 100, 300],
  ["a range", "key >= 'd000100' and key < 'd000110'", [], 10, 30],
])("%s is found by the index", async (_, where, values, shown, most) => {
  const plan = await lookAt(`select * from ${view("documents")} where ${where}`, values);
  expect(plan).toMatchObject({ indexes: expect.arrayContaining([ofKeys]), shown });
  expect(plan.looked).toBeLessThanOrEqual(most);
});

test.each([
  ["all parts", "customer = 'c5' and line = 1005", 1],
  ["the leading part", "customer = 'c5'", 20],
  ["the leading part and a range of the next", "customer = 'c5' and line < 3000", 3],
  ["a prefix of the leading part", "customer like 'c99%'", 220],
])("in a key of several parts, %s is found by the index", async (_, where, shown) => {
  const plan = await lookAt(`select * from ${view("lines")} where ${where}`);
  expect(plan).toMatchObject({ indexes: expect.arrayContaining([ofKeys]), shown });
  expect(plan.looked).toBeLessThanOrEqual(shown);
});

test("the cells of a family's row are found by the index", async () => {
  const plan = await lookAt(`select * from ${view("documents_marks")} where key = 'd000009'`);
  expect(plan).toMatchObject({ indexes: expect.arrayContaining([ofKeys]), shown: 1 });
  expect(plan.looked).toBeLessThanOrEqual(3);
});

test("a lateral join with an SQL table looks up each key", async () => {
  await pool.query(
    `create table "plan views".picked as select 'd00000' || i as id from generate_series(1, 5) i; analyze "plan views".picked`,
  );
  const plan = await lookAt(
    `select * from "plan views".picked p, lateral (select * from ${view("documents")} where key = p.id offset 0) d`,
  );
  expect(plan).toMatchObject({ indexes: expect.arrayContaining([ofKeys]), shown: 5 });
  expect(plan.looked).toBeLessThanOrEqual(20);
});
