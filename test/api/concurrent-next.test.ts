import { afterAll, beforeAll, expect, test } from "vitest";
import { type Database, family, int, open, table, text } from "../../src/index.js";

// A caller may ask an async iterator for several items before the first has come, as read-ahead
// helpers do. Like an async generator, the iterator must answer the calls in order, each item once.

const rowCount = 700;
const numbers = table("numbers", { value: int(), cells: family(int()) });
const texts = table("numbers_as_text", { value: text() });
const nameOf = (index: number) => String(index).padStart(4, "0");
const all = Array.from({ length: rowCount }, (_, index) => nameOf(index));

let db: Database;

beforeAll(async () => {
  db = await open("memory:", { tables: [numbers, texts] });
  await db.transact((tx) => {
    for (const [index, name] of all.entries()) {
      tx.set(numbers.value, name, index);
      tx.set(numbers.cells.at(name), "wide", index);
      tx.set(texts.value, name, name);
    }
  });
});

afterAll(() => db.close());

/** Returns the items in the order of the calls, with `atOnce` calls at a time. */
async function takeAtOnce<T>(items: AsyncIterator<T>, atOnce: number): Promise<T[]> {
  const taken: T[] = [];
  for (;;) {
    const answers = await Promise.all(Array.from({ length: atOnce }, () => items.next()));
    const firstDone = answers.findIndex(({ done }) => done === true);
    expect(answers.slice(firstDone < 0 ? atOnce : firstDone).every(({ done }) => done)).toBe(true);
    for (const answer of answers) if (answer.done !== true) taken.push(answer.value);
    if (firstDone >= 0) return taken;
  }
}

test.each([2, 7, 50])(
  "calls of next at the same time, %i, give each row of a scan once, in order",
  async (atOnce) => {
    await using snapshot = await db.snapshot();
    const forward = await takeAtOnce(snapshot.scan(numbers.value), atOnce);
    expect(forward.map(({ row }) => row)).toEqual(all);
    const backward = await takeAtOnce(snapshot.scan(numbers.value, { reverse: true }), atOnce);
    expect(backward.map(({ row }) => row)).toEqual(all.toReversed());
    const tables = await takeAtOnce(snapshot.scan(texts), atOnce);
    expect(tables.map(({ row }) => row)).toEqual(all);
  },
);

/**
 * Returns the items in the order of the calls. There are always `ahead` open calls: each answer is
 * followed by another call.
 */
async function takeAhead<T>(items: AsyncIterator<T>, ahead: number): Promise<T[]> {
  const taken: T[] = [];
  const asked = Array.from({ length: ahead }, () => items.next());
  for (;;) {
    const answer = await asked.shift()!;
    if (answer.done) return taken;
    taken.push(answer.value);
    asked.push(items.next());
  }
}

test.each([2, 7, 50])(
  "calls of next that are always %i ahead give each row of a scan once, in order",
  async (ahead) => {
    await using snapshot = await db.snapshot();
    const forward = await takeAhead(snapshot.scan(numbers.value), ahead);
    expect(forward.map(({ row }) => row)).toEqual(all);
    const tables = await takeAhead(snapshot.scan(texts), ahead);
    expect(tables.map(({ row }) => row)).toEqual(all);
  },
);

test.each([2, 7, 50])("calls of next at the same time, %i, keep a scan's limit", async (atOnce) => {
  await using snapshot = await db.snapshot();
  const taken = await takeAtOnce(snapshot.scan(numbers.value, { limit: 333 }), atOnce);
  expect(taken.map(({ row }) => row)).toEqual(all.slice(0, 333));
});

test.each([2, 7, 50])(
  "calls of next at the same time, %i, give each own write and each entry once",
  async (atOnce) => {
    const tx = await db.begin();
    for (let index = 0; index < rowCount; index += 3) tx.delete(numbers.value, nameOf(index));
    tx.set(numbers.value, "0001 and a half", 3);
    const expected = [...all.filter((_, index) => index % 3 !== 0), "0001 and a half"].sort();
    const rows = await takeAtOnce(tx.scan(numbers.value), atOnce);
    expect(rows.map(({ row }) => row)).toEqual(expected);
    const entries = await takeAtOnce(tx.entries(numbers.cells, "wide"), atOnce);
    expect(entries.map(({ qualifier }) => qualifier)).toEqual(all);
    await tx.rollback();
  },
);

test("a page that cannot be read fails one call, and ends the others", async () => {
  await using other = await open("memory:", { tables: [texts] });
  await other.transact((tx) => tx.set(texts.value, "a", "a"));
  const snapshot = await other.snapshot();
  const items = snapshot.scan(texts.value);
  await snapshot.close();
  const answers = await Promise.allSettled([items.next(), items.next(), items.next()]);
  expect(answers.map(({ status }) => status)).toEqual(["rejected", "fulfilled", "fulfilled"]);
  expect(answers.slice(1)).toEqual(
    [1, 2].map(() => ({ status: "fulfilled", value: { done: true, value: undefined } })),
  );
});
