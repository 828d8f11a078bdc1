import { afterEach, describe, expect, test } from "vitest";
import { family, int, signal, table, text } from "../schema/index.js";
import { observer } from "./index.js";
import { countHints, openTest, type TestDatabase, type TestOptions } from "./test-context.js";

const documents = table("documents", {
  contents: text(),
  length: int(),
  anchors: family(text()),
  anchorCount: int(),
  poke: signal(),
  poked: int(),
});

const open: TestDatabase[] = [];

async function start(options: TestOptions): Promise<TestDatabase> {
  const db = await openTest(options);
  open.push(db);
  return db;
}

afterEach(async () => {
  for (const db of open.splice(0)) await db.close();
});

const length = observer("length", documents.contents, (tx, { row, value }) => {
  if (value === undefined) tx.delete(documents.length, row);
  else tx.set(documents.length, row, value.length);
});

describe.each(["one-phase", "two-phase"] as const)("observers, committing in %s", (commit) => {
  test("an observer handles a change, and its hint goes", async () => {
    const db = await start({ commit, observers: [length] });
    await db.transact((tx) => tx.set(documents.contents, "a", "hello"));
    expect(await countHints(db.store)).toEqual({ length: 1 });
    await db.pool.drain();
    expect(await db.transact((tx) => tx.get(documents.length, "a"))).toBe(5);
    expect(await countHints(db.store)).toEqual({});
    expect(db.runs.map((run) => run.outcome)).toEqual(["committed"]);
    expect(db.failures).toEqual([]);
  });
});
