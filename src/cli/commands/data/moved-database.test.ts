import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { CommandLine } from "../../../../test/support/command-line.js";
import { gather } from "../../../../test/support/gather.js";
import { open } from "../../../database/index.js";
import { observer } from "../../../observer/index.js";
import { eventualIndex } from "../../../recipes/index.js";
import { family, float, int, json, table, text, tuple } from "../../../schema/index.js";

/** Observers that depend on `previous` go on in a database that was exported and imported. */

let cli: CommandLine;
const path = (name: string) => join(cli.folder, name);

beforeEach(async () => {
  cli = await CommandLine.create();
});

const pages = table(
  "pages",
  { body: text(), tags: json<string[]>(), notes: family(text()) },
  { key: tuple(text(), int()) },
);
const words = table("words", { pages: int() });
const totals = table("totals", { length: float() });
const byTag = eventualIndex("by_tag", pages.tags, { by: text(), of: (tags) => tags });

const split = (body = "") => new Set(body.split(" ").filter(Boolean));
const count = observer("count", pages.body, async (tx, { value, previous }) => {
  const [now, before] = [split(value), split(previous)];
  for (const word of new Set([...now, ...before])) {
    const more = Number(now.has(word)) - Number(before.has(word));
    tx.set(words.pages, word, ((await tx.get(words.pages, word)) ?? 0) + more);
  }
});
const sum = observer("sum", pages.notes, async (tx, { value, previous }) => {
  const length = (await tx.get(totals.length, "all")) ?? 0;
  tx.set(totals.length, "all", length + (value?.length ?? 0) - (previous?.length ?? 0));
});
const app = {
  tables: [pages, words, totals, byTag.table],
  observers: [count, sum, byTag.observer],
  collectEveryMs: 0,
};

async function load(rows: number): Promise<void> {
  await using db = await open(path("data"), app);
  await db.transact((tx) => {
    for (let n = 0; n < rows; n++) {
      tx.set(pages.body, ["a", n], `tea w${n}`);
      tx.set(pages.tags, ["a", n], ["hot", `t${n}`]);
      tx.set(pages.notes.at("left"), ["a", n], "12345");
      tx.set(pages.notes.at("nul \0 right"), ["a", n], "123");
    }
  });
  await db.drain();
  await db.transact((tx) => tx.delete(pages.notes.at("left"), ["a", 0]));
  await db.drain();
}

async function contents(name: string) {
  await using db = await open(path(name), app);
  const pending = await gather(db.pending());
  await db.drain();
  await db.transact((tx) => {
    tx.set(pages.body, ["a", 0], "water");
    tx.set(pages.tags, ["a", 0], ["cold"]);
    tx.set(pages.notes.at("nul \0 right"), ["a", 0], "1");
    tx.set(pages.notes.at("left"), ["a", 0], "1");
  });
  await db.drain();
  expect(await db.check()).toEqual([]);
  await using view = await db.snapshot();
  const found = await Promise.all(
    [words, totals, byTag.table].map((each) => gather(view.scan(each as typeof words))),
  );
  return { pending, found };
}

const run = async (...args: string[]) => expect(await cli.run(args)).toMatchObject({ code: 0, stderr: "" });

it.each([[3], [300]])(
  "a moved database of %i rows gives the same derived data after further changes",
  async (rows) => {
    await load(rows);
    await run("export", "data", "all.jsonl");
    await run("import", "copy", "all.jsonl", "--observers");
    const [source, copy] = [await contents("data"), await contents("copy")];
    expect(copy.pending).toEqual([]);
    expect(copy.found).toEqual(source.found);
  },
);

describe("an import into a database whose observers are registered", () => {
  it("makes them due, because derived tables may be missing from it", async () => {
    await load(3);
    await run("export", "data", "pages.jsonl", "--table", "pages");
    {
      await using _db = await open(path("copy"), app);
    }
    await run("import", "copy", "pages.jsonl");
    const [source, copy] = [await contents("data"), await contents("copy")];
    expect(copy.pending.length).toBe(3 * 3 + 2);
    // Words that no page has any more were counted only there.
    const left = (found: readonly unknown[]) =>
      JSON.stringify(found).replace(/\{"row":"w?(0|tea)".*?\},?/g, "");
    expect(left(copy.found)).toEqual(left(source.found));
  });
});

it("what was due is not taken for handled", async () => {
  await load(3);
  {
    await using db = await open(path("data"), app);
    await db.transact((tx) => {
      tx.set(pages.body, ["a", 9], "due");
      tx.set(pages.body, ["a", 1], "again");
    });
  }
  await run("export", "data", "all.jsonl");
  await run("import", "copy", "all.jsonl", "--observers");
  const { pending, found } = await contents("copy");
  expect(pending).toHaveLength(2);
  expect(found[0]).toContainEqual({ row: "due", value: { pages: 1 } });
  // Its value here is the new one. Taken for handled, it would be its own `previous`, and count for nothing.
  expect(found[0]).toContainEqual({ row: "again", value: { pages: 1 } });
});

it("an observer that contradicts the database is refused before anything is imported", async () => {
  await load(3);
  await run("export", "data", "all.jsonl");
  const other = table("other", { body: text() });
  {
    await using _db = await open(path("copy"), { observers: [observer("sum", other.body, () => {})] });
  }
  expect(await cli.run(["import", "copy", "all.jsonl", "--observers"])).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('"sum" is registered for the column other.body'),
  });
  await using copy = await open(path("copy"), { create: false });
  expect([...(await copy.tables()).keys()]).toEqual(["other"]);
});

it("an interrupted import goes on with --observers", async () => {
  await load(300);
  await run("export", "data", "all.jsonl");
  const whole = await readFile(path("all.jsonl"), "utf8");
  const cut = await cli.run(["import", "copy"], { stdin: whole.slice(0, Math.floor(whole.length * 0.7)) });
  expect(cut.code).toBe(1);
  await run("import", "copy", "all.jsonl", "--observers");
  const [source, copy] = [await contents("data"), await contents("copy")];
  expect(copy.found).toEqual(source.found);
  expect(await cli.run(["import", "copy", "--observers"], { stdin: whole })).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("give a file"),
  });
});
