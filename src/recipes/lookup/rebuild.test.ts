import { type Database, LimitExceededError, open, type Transaction, table, text, tuple } from "percolatordb";
import { memoryStore } from "percolatordb/memory";
import { describe, expect, test } from "vitest";
import { gather } from "../../../test/support/gather.js";
import { columnWriter, eventualIndex, exactIndex, uniqueConstraint } from "../index.js";

const users = table("users", { email: text() });
const emails = (by: (email: string) => string) => uniqueConstraint("emails", users.email, { by });
const exactly = emails((email) => email);
const anyCase = emails((email) => email.toLowerCase());

async function owners(db: Database): Promise<readonly string[]> {
  const found: string[] = [];
  await using snapshot = await db.snapshot();
  for await (const { row, value } of snapshot.scan(anyCase.table)) {
    found.push(`${String(row)} ${(value as { owner: string }).owner}`);
  }
  return found;
}

describe("a unique constraint", () => {
  test("is rebuilt after a change of its definition, and lists the values that are no longer unique", async () => {
    await using db = await open("memory:");
    await db.transact(async (tx) => {
      await exactly.set(tx, "u1", "Ann@x");
      await exactly.set(tx, "u2", "ann@x");
      await exactly.set(tx, "u3", "BOB@x");
    });
    const report = await anyCase.rebuild(db);
    expect(report).toEqual({
      visited: 3 + 4,
      added: 1,
      removed: 2,
      duplicates: 1,
      examples: [{ key: "ann@x", owner: "u2", row: "u1" }],
      continued: false,
    });
    expect(await owners(db)).toEqual(["ann@x u2", "bob@x u3"]);
    await expect(db.transact((tx) => anyCase.set(tx, "u4", "Bob@X"))).rejects.toThrow(/taken by row "u3"/);
    await db.transact((tx) => anyCase.set(tx, "u1", "ann@y"));
    expect(await anyCase.rebuild(db)).toMatchObject({ added: 0, removed: 0, duplicates: 0 });
  });

  test("is built for values that were written before it", async () => {
    await using db = await open("memory:");
    await db.transact((tx) => {
      for (let i = 0; i < 250; i++) tx.set(users.email, `u${i}`, `${i}@x`);
    });
    const seen: number[] = [];
    const report = await exactly.rebuild(db, { onProgress: ({ visited }) => seen.push(visited) });
    expect(report).toMatchObject({ added: 250, removed: 0, duplicates: 0 });
    expect(seen).toEqual([100, 200, 250, 350, 450, 500]);
    const stopped = AbortSignal.abort();
    await expect(exactly.rebuild(db, { signal: stopped })).rejects.toMatchObject({ code: "ABORTED" });
  });

  test("is due after its version was raised, until a rebuild has ended", async () => {
    const inVersion = (version: number) =>
      uniqueConstraint("emails", users.email, { by: (email) => email, version });
    await using db = await open("memory:");
    await db.transact((tx) => inVersion(1).set(tx, "u", "u@x"));
    await db.transact((tx) => {
      for (let i = 0; i < 250; i++) tx.set(users.email, `u${i}`, `${i}@x`);
    });
    const raised = inVersion(3);
    await db.transact((tx) => raised.set(tx, "u", "v@x"));
    const due = async () => (await db.schema()).rebuildsDue;
    expect(await due()).toEqual([{ table: "emails", version: 3, built: 1 }]);
    for (const pages of [1, 4]) {
      const stopping = new AbortController();
      let seen = 0;
      const onProgress = () => {
        if (++seen === pages) stopping.abort();
      };
      const stopped = raised.rebuild(db, { onProgress, signal: stopping.signal, resume: "3" });
      await expect(stopped).rejects.toMatchObject({ code: "ABORTED" });
      expect(await due()).toEqual([{ table: "emails", version: 3, built: 1 }]);
    }
    // A rebuild by a program of an older version does not make it current.
    await inVersion(2).rebuild(db);
    expect(await due()).toEqual([{ table: "emails", version: 3, built: 2 }]);
    await raised.rebuild(db);
    expect(await due()).toEqual([]);
    await inVersion(1).rebuild(db);
    expect(await due()).toEqual([{ table: "emails", version: 3, built: 1 }]);
  });

  test("of another version does not continue an interrupted rebuild of the same name", async () => {
    const inVersion = (version: number) =>
      uniqueConstraint("emails", users.email, { by: (email) => `${version} ${email}`, version });
    await using db = await open("memory:");
    await db.transact((tx) => {
      for (let i = 0; i < 250; i++) tx.set(users.email, `u${i}`, `${i}@x`);
    });
    const stopping = new AbortController();
    const interrupted = inVersion(2).rebuild(db, {
      resume: "release",
      signal: stopping.signal,
      onProgress: () => stopping.abort(),
    });
    await expect(interrupted).rejects.toMatchObject({ code: "ABORTED" });
    const report = await inVersion(3).rebuild(db, { resume: "release" });
    expect(report).toMatchObject({ added: 250, removed: 100, continued: false });
  });

  test("does not add the owner of a value that a transaction in progress frees", async () => {
    await using db = await open("memory:");
    await db.transact((tx) => tx.set(users.email, "u1", "old@x"));
    await using freeing = await db.begin();
    await anyCase.set(freeing, "u1", "new@x");
    await anyCase.rebuild(db);
    await expect(freeing.commit()).rejects.toMatchObject({ code: "CONFLICT" });
    await db.transact((tx) => anyCase.set(tx, "u1", "new@x"));
    expect(await owners(db)).toEqual(["new@x u1"]);
  });
});

const articles = table("articles", { tags: text() }, { key: tuple(text()) });
const words = (value: string) => value.split(" ");
const longWords = (value: string) => words(value).filter(({ length }) => length > 3);

describe.each([exactIndex, eventualIndex])("an index (%o)", (declare) => {
  test("is rebuilt after a change of its definition", async () => {
    const before = declare("by_word", articles.tags, { by: text(), of: words });
    const after = declare("by_word", articles.tags, { by: text(), of: longWords });
    const more = declare("by_word", articles.tags, { by: text(), of: (value) => [...words(value), "all"] });
    await using db = await open("memory:", { observers: "observer" in before ? [before.observer] : [] });
    await db.transact((tx) => tx.set(articles.tags, ["a"], "one three"));
    await db.transact((tx) => tx.set(articles.tags, ["b"], "two"));
    await db.drain();
    if (!("observer" in before)) expect(await before.rebuild(db)).toMatchObject({ added: 3, removed: 0 });
    expect(await after.rebuild(db)).toMatchObject({ added: 0, removed: 2, duplicates: 0 });
    expect(await more.rebuild(db)).toMatchObject({ added: 4, removed: 0 });
    await using snapshot = await db.snapshot();
    expect(await gather(more.find(snapshot, "all"))).toEqual([["a"], ["b"]]);
    expect(await gather(more.find(snapshot, "two"))).toEqual([["b"]]);
    expect(await db.check()).toEqual([]);
  });
});

describe("an eventual index that is rebuilt while changes wait for its observer", () => {
  const byTag = eventualIndex("by_tag", articles.tags, { by: text(), of: words });

  async function entries(db: Database) {
    await using snapshot = await db.snapshot();
    return (await gather(snapshot.scan(byTag.table))).map(({ row }) => row);
  }

  test.each([
    { first: "a", next: "b", last: "c", left: [["c", "x"]] },
    { first: "a", next: "b", last: "a", left: [["a", "x"]] },
    { first: "a", next: undefined, last: "a b", left: ["a", "b"].map((each) => [each, "x"]) },
    { first: undefined, next: "b", last: "c", left: [["c", "x"]] },
    { first: "a", next: "b", last: undefined, left: [] },
  ])("has the entries of the newest value: $first, $next, $last", async ({ first, next, last, left }) => {
    await using db = await open("memory:", { lookups: [byTag] });
    const set = (value: string | undefined) =>
      db.transact((tx) =>
        value === undefined ? tx.delete(articles.tags, ["x"]) : tx.set(articles.tags, ["x"], value),
      );
    await set(first);
    await db.drain();
    await set(next);
    await byTag.rebuild(db);
    await set(last);
    await db.drain();
    expect(await entries(db)).toEqual(left);
    expect(await byTag.rebuild(db)).toMatchObject({ added: 0, removed: 0 });
    expect(await db.check()).toEqual([]);
  });

  test("also of rows that are older than the observer", async () => {
    const store = memoryStore();
    await using before = await open(store);
    await before.transact((tx) => tx.set(articles.tags, ["x"], "a"));
    await using db = await open(store, { lookups: [byTag] });
    expect(await byTag.rebuild(db)).toMatchObject({ added: 1 });
    expect(await entries(db)).toEqual([["a", "x"]]);
    await db.transact((tx) => tx.set(articles.tags, ["x"], "b"));
    await db.drain();
    expect(await entries(db)).toEqual([["b", "x"]]);
  });
});

test("a definition changes without a gap: both are kept, the new one is built, the old one goes", async () => {
  const old = exactIndex("by_tag", articles.tags, { by: text(), of: words });
  const now = exactIndex("by_tag_2", articles.tags, { by: text(), of: longWords });
  await using db = await open("memory:");
  await db.transact((tx) => old.set(tx, ["a"], "one three"));
  const both = columnWriter(old, now);
  await db.transact((tx) => both.set(tx, ["b"], "four six"));
  await now.rebuild(db);
  await using snapshot = await db.snapshot();
  expect(await gather(now.find(snapshot, "three"))).toEqual([["a"]]);
  expect(await gather(now.find(snapshot, "four"))).toEqual([["b"]]);
  expect(await gather(old.find(snapshot, "six"))).toEqual([["b"]]);
  expect(await db.drop({ table: "by_tag" })).toMatchObject({ removed: 4 });
});

test("a rebuild takes fewer rows at a time if the terms of many are too much for a transaction", async () => {
  const byTag = exactIndex("by_tag", articles.tags, { by: text(), of: words });
  await using db = await open("memory:");
  await db.transact((tx) => {
    for (let row = 0; row < 100; row++) tx.set(articles.tags, [`${row}`], "a b c");
  });
  // As with thousands of terms a row: a transaction has its limit, only at fewer reads.
  const limited = {
    transact: <T>(run: (tx: Transaction) => Promise<T>, options?: Parameters<Database["transact"]>[1]) =>
      db.transact(async (tx) => {
        let reads = 0;
        const get = tx.get.bind(tx);
        tx.get = (column, row) => {
          reads++;
          return get(column, row);
        };
        const result = await run(tx);
        if (reads > 90) throw new LimitExceededError("Too many reads.");
        return result;
      }, options),
  } as unknown as Database;
  const seen: number[] = [];
  const report = await byTag.rebuild(limited, { onProgress: ({ visited }) => seen.push(visited) });
  expect(report).toMatchObject({ visited: 100 + 300, added: 300, removed: 0 });
  expect(seen.slice(0, 3)).toEqual([25, 51, 78]);
});
