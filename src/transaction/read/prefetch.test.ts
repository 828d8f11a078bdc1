import { beforeEach, describe, expect, test } from "vitest";
import { DistantTestStore, distantContext } from "../../../test/support/distant-store.js";
import { ConflictError } from "../../errors/index.js";
import { int, table, text } from "../../schema/index.js";
import { StepHooks } from "../../testing/index.js";
import type { TransactionContext } from "../context.js";
import { CoreTransaction, type Isolation } from "../core.js";
import { transact } from "../transact.js";
import { Transaction } from "../transaction.js";
import type { ReadHow, ReadPredictor } from "./read-predictor.js";

const pages = table("pages", { a: text(), b: text(), c: text(), d: int() });
const long = "a value that is too long to stand in a write record, and so goes into a data cell of its own";

let store: DistantTestStore;
let context: TransactionContext;
let hooks: StepHooks;
let told: string[];

beforeEach(() => {
  store = new DistantTestStore();
  hooks = new StepHooks();
  context = distantContext(store, hooks);
  told = [];
});

/** Expects these columns of every row. */
function expecting(...columns: string[]): ReadPredictor {
  return {
    expected: () => columns.map((column) => Buffer.from(column)),
    read: (_table, row, column, how: ReadHow) => told.push(`${row} ${column} ${how}`),
    fetched: (_table, row, column) => told.push(`${row} ${column} fetched`),
  };
}

async function begin(predictor: ReadPredictor, isolation: Isolation = "snapshot"): Promise<Transaction> {
  const core = await CoreTransaction.begin(context, { isolation });
  core.reader.predictBy(predictor);
  return new Transaction(core);
}

async function set(row: string, values: { readonly a?: string; readonly b?: string }): Promise<void> {
  await transact(context, (tx) => {
    if (values.a !== undefined) tx.set(pages.a, row, values.a);
    if (values.b !== undefined) tx.set(pages.b, row, values.b);
  });
  await context.background.settled();
  store.reads.length = 0;
}

/** Stops a commit when all its locks are set. Resolves at that time. */
async function lockRow(row: string, values: { readonly a?: string; readonly b?: string }) {
  const pause = hooks.pauseBefore("commit-primary");
  const done = set(row, values);
  await pause.reached;
  store.reads.length = 0;
  store.mutations.length = 0;
  return {
    async commit() {
      pause.resume();
      await done;
    },
  };
}

describe("the first read of a row", () => {
  test("prefetches the expected columns in the same request", async () => {
    await set("x", { a: "1", b: long });
    await using tx = await begin(expecting("c", "b"));
    expect(await tx.get(pages.a, "x")).toBe("1");
    expect(await tx.get(pages.b, "x")).toBe(long);
    expect(await tx.get(pages.c, "x")).toBeUndefined();
    expect(store.columnsRead("pages")).toEqual(["a b c"]);
    expect(told).toEqual(["x c fetched", "x b fetched", "x a first", "x b atHand", "x c atHand"]);
  });

  test("is not repeated for reads at the same time", async () => {
    await set("x", { a: "1", b: "2" });
    await using tx = await begin(expecting("b"));
    expect(await Promise.all([tx.get(pages.a, "x"), tx.get(pages.b, "x")])).toEqual(["1", "2"]);
    expect(store.columnsRead("pages")).toEqual(["a b"]);
  });

  test("requests columns that were not expected", async () => {
    await set("x", { a: "1", b: "2" });
    await using tx = await begin(expecting("c"));
    await tx.get(pages.a, "x");
    expect(await tx.get(pages.b, "x")).toBe("2");
    expect(store.columnsRead("pages")).toEqual(["a c", "b"]);
    expect(told).toContain("x b asked");
  });

  test("shows own writes, not the prefetched values", async () => {
    await set("x", { a: "1", b: "2" });
    await using tx = await begin(expecting("b"));
    await tx.get(pages.a, "x");
    tx.set(pages.b, "x", "own");
    expect(await tx.get(pages.b, "x")).toBe("own");
    expect((await tx.row(pages, "x"))?.b).toBe("own");
  });

  test("is as of the start, whatever commits meanwhile", async () => {
    await set("x", { a: "1", b: "2" });
    await using tx = await begin(expecting("b"));
    await tx.get(pages.a, "x");
    await set("x", { b: "3" });
    expect(await tx.get(pages.b, "x")).toBe("2");
  });

  test("is repeated if the answer ends before the wanted column", async () => {
    store = new DistantTestStore({ pageCells: 1 });
    context = distantContext(store, hooks);
    await set("x", { a: "1", b: "2" });
    await using tx = await begin(expecting("a"));
    expect(await tx.get(pages.b, "x")).toBe("2");
    expect(store.columnsRead("pages")).toEqual(["a b", "b"]);
  });
});

describe("a lock on a prefetched column", () => {
  test("affects no transaction while the column is not read", async () => {
    await set("x", { a: "1", b: "2" });
    const other = await lockRow("x", { b: "3" });
    await using tx = await begin(expecting("b"));
    expect(await tx.get(pages.a, "x")).toBe("1");
    expect(store.mutations).toEqual([]);
    expect(hooks.count("push")).toBe(0);
    await other.commit();
  });

  test("is met by a read: the writer is pushed, and the snapshot stays valid", async () => {
    await set("x", { a: "1", b: "2" });
    const other = await lockRow("x", { b: "3" });
    await using tx = await begin(expecting("b"));
    await tx.get(pages.a, "x");
    expect(await tx.get(pages.b, "x")).toBe("2");
    expect(hooks.count("push")).toBe(1);
    await other.commit();
    expect(await tx.get(pages.b, "x")).toBe("2");
  });

  test("is read again with the column, because it may be gone", async () => {
    await set("x", { a: "1", b: "2" });
    const other = await lockRow("x", { b: "3" });
    await using tx = await begin(expecting("b"));
    await tx.get(pages.a, "x");
    await other.commit();
    // The lock's transaction took its commit timestamp before this read started. The prefetched
    // answer shows an older value under the lock.
    expect(await tx.get(pages.b, "x")).toBe("3");
    expect(hooks.count("push")).toBe(0);
  });
});

describe("a serializable transaction", () => {
  test("does not count prefetched columns as read", async () => {
    await set("x", { a: "1", b: "2" });
    await using tx = await begin(expecting("b"), "serializable");
    tx.set(pages.d, "y", (await tx.get(pages.a, "x"))!.length);
    await set("x", { b: "3" });
    await tx.commit();
  });

  test("counts prefetched columns that were read", async () => {
    await set("x", { a: "1", b: "2" });
    await using tx = await begin(expecting("b"), "serializable");
    await tx.get(pages.a, "x");
    tx.set(pages.d, "y", (await tx.get(pages.b, "x"))!.length);
    await set("x", { b: "3" });
    await expect(tx.commit()).rejects.toBeInstanceOf(ConflictError);
  });
});

test("hooks get only what was read", async () => {
  await set("x", { a: "1", b: "2" });
  const read: string[] = [];
  context = {
    ...context,
    hooks: { step: hooks.step.bind(hooks), read: ({ cell }) => read.push(`${cell.column}`) },
  };
  await using tx = await begin(expecting("b", "c"));
  await tx.get(pages.a, "x");
  expect(read).toEqual(["a"]);
  await tx.get(pages.c, "x");
  expect(read).toEqual(["a", "c"]);
});
