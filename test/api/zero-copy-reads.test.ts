import { InvalidValueError, int, open, type RowStore, table } from "percolatordb";
import { openLmdbStore } from "percolatordb/lmdb";
import { afterEach, beforeEach, expect, test } from "vitest";
import { temporaryFolder } from "../support/databases.js";

/**
 * Reads on the embedded store, which returns cells without copying them. Results must come in order
 * and be those of the snapshot. An error must come in the place of its result.
 */

const numbers = table("numbers", { value: int(), other: int() });
const count = 1_500;
const rowOf = (index: number) => String(index).padStart(5, "0");
const rows = Array.from({ length: count }, (_, index) => rowOf(index));

let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let store: RowStore;
let db: Awaited<ReturnType<typeof open>>;

beforeEach(async () => {
  folder = await temporaryFolder();
  store = await openLmdbStore(folder.path, { durability: "none" });
  db = await open(store, { tables: [numbers], collectEveryMs: 0 });
  await db.transact((tx) => {
    for (const [index, row] of rows.entries()) tx.set(numbers.value, row, index);
  });
});

afterEach(async () => {
  await db.close();
  await folder.remove();
});

const all = Array.from({ length: count }, (_, index) => index);

async function scanned(view: Pick<typeof db, "snapshot">, reverse = false): Promise<number[]> {
  await using snapshot = await view.snapshot();
  const values: number[] = [];
  for await (const { value } of snapshot.scan(numbers.value, { reverse })) values.push(value);
  return values;
}

test("more reads than fit into one turn are answered in order, including those of absent cells", async () => {
  await using snapshot = await db.snapshot();
  const values = await snapshot.getMany(numbers.value, ["none", ...rows, "none"]);
  expect(values).toEqual([undefined, ...all, undefined]);
  expect(await scanned(db)).toEqual(all);
  expect(await scanned(db, true)).toEqual([...all].reverse());
});

test("rows of all kinds of text are read, and invalid ones are refused", async () => {
  const odd = [
    "",
    "\0",
    "a\0",
    "a\0b",
    "\x01",
    "é",
    "Ł",
    "\uffff",
    "\u{10000}",
    "x".repeat(499),
    "x".repeat(501),
  ];
  const long = ["x".repeat(1_400), "é".repeat(500), "é".repeat(501), "\0".repeat(500), "\0".repeat(700)];
  const texts = [...odd, ...long];
  await db.transact((tx) => {
    for (const [index, row] of texts.entries()) tx.set(numbers.value, row, index);
  });
  await using snapshot = await db.snapshot();
  const expected = texts.map((_, index) => index);
  expect(await snapshot.getMany(numbers.value, texts)).toEqual(expected);
  expect(await Promise.all(texts.map((row) => snapshot.get(numbers.value, row)))).toEqual(expected);
  expect(await snapshot.get(numbers.value, "a\0c")).toBeUndefined();
  for (const row of ["\ud800", "a\udc00b", "x".repeat(1_501), "\0".repeat(751), 1 as unknown as string]) {
    await expect(snapshot.get(numbers.value, row)).rejects.toMatchObject({ code: "INVALID_KEY" });
  }
});

test("a snapshot shows the same data, whatever is written, deleted or created", async () => {
  await using snapshot = await db.snapshot();
  await db.transact((tx) => {
    for (const row of rows.slice(0, 700)) tx.set(numbers.value, row, -1);
    for (const row of rows.slice(700, 900)) tx.delete(numbers.value, row);
    tx.set(numbers.value, "new", 1);
    tx.set(numbers.other, rowOf(3), 1);
  });
  expect(await snapshot.getMany(numbers.value, [...rows, "new"])).toEqual([...all, undefined]);
  const values: number[] = [];
  for await (const { value } of snapshot.scan(numbers.value)) values.push(value);
  expect(values).toEqual(all);
  expect(await scanned(db)).toEqual([...all.slice(0, 700).fill(-1), ...all.slice(900), 1]);
});

test("a scan shows a write of its own transaction to a row that it has not reached yet", async () => {
  await db.transact(async (tx) => {
    const seen = new Map<string, number>();
    for await (const { row, value } of tx.scan(numbers.value)) {
      seen.set(row, value);
      if (row !== rowOf(10)) continue;
      tx.set(numbers.value, rowOf(5), -1);
      tx.set(numbers.value, rowOf(1_000), -1);
      tx.set(numbers.value, "new", -1);
      tx.delete(numbers.value, rowOf(1_001));
    }
    expect(seen.get(rowOf(5))).toBe(5);
    expect(seen.get(rowOf(1_000))).toBe(-1);
    expect(seen.get("new")).toBe(-1);
    expect(seen.size).toBe(count);
    expect(await tx.get(numbers.value, rowOf(1_001))).toBeUndefined();
    expect(await tx.get(numbers.value, rowOf(1_002))).toBe(1_002);
  });
});

test("a value that cannot be decoded fails in its turn, with a named error", async () => {
  const bytes = Buffer.concat([Buffer.alloc(9), Buffer.from("no number at all")]);
  const column = Buffer.from("value");
  const timestamp = await store.atomic!.next();
  await store.mutate({
    table: "numbers",
    row: Buffer.from(rowOf(40)),
    guards: [],
    mutations: [{ type: "put", column, part: "write", timestamp, value: bytes }],
  });
  await using snapshot = await db.snapshot();
  const seen: number[] = [];
  const scan = async () => {
    for await (const { value } of snapshot.scan(numbers.value)) seen.push(value);
  };
  const failure = await scan().catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(InvalidValueError);
  expect(String(failure)).toContain(rowOf(40));
  expect(seen).toEqual(all.slice(0, 40));
  await expect(snapshot.get(numbers.value, rowOf(40))).rejects.toThrow(rowOf(40));
});

test.each([
  { reverse: false, row: rows[0]!, second: 1 },
  { reverse: true, row: rows.at(-1)!, second: count - 2 },
])("a scan has what its transaction writes while a page is read (reverse: $reverse)", async (scan) => {
  const { reverse, row, second } = scan;
  await db.transact(async (tx) => {
    const values = tx.scan(numbers.value, { reverse })[Symbol.asyncIterator]();
    const first = values.next();
    tx.set(numbers.value, row, -1);
    expect(await first).toMatchObject({ value: { row, value: -1 } });
    expect(await values.next()).toMatchObject({ value: { value: second } });
    await values.return?.();
  });
});
