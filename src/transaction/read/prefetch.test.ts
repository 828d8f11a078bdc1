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

/** Stops a commit where all its locks stand; resolves when they do. */
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
  test("brings what is expected of it in the same request", async () => {
    await set("x", { a: "1", b: long });
    await using tx = await begin(expecting("c", "b"));
    expect(await tx.get(pages.a, "x")).toBe("1");
    expect(await tx.get(pages.b, "x")).toBe(long);
    expect(await tx.get(pages.c, "x")).toBeUndefined();
    expect(store.columnsRead("pages")).toEqual(["a b c"]);
    expect(told).toEqual(["x c fetched", "x b fetched", "x a first", "x b atHand", "x c atHand"]);
  });

  test("is not repeated for reads of the same moment", async () => {
    await set("x", { a: "1", b: "2" });
    await using tx = await begin(expecting("b"));
    expect(await Promise.all([tx.get(pages.a, "x"), tx.get(pages.b, "x")])).toEqual(["1", "2"]);
    expect(store.columnsRead("pages")).toEqual(["a b"]);
  });

  test("asks again for what was not expected", async () => {
    await set("x", { a: "1", b: "2" });
    await using tx = await begin(expecting("c"));
    await tx.get(pages.a, "x");
    expect(await tx.get(pages.b, "x")).toBe("2");
    expect(store.columnsRead("pages")).toEqual(["a c", "b"]);
    expect(told).toContain("x b asked");
  });

  test("shows own writes, not what came ahead", async () => {
    await set("x", { a: "1", b: "2" });
    await using tx = await begin(expecting("b"));
    await tx.get(pages.a, "x");
    tx.set(pages.b, "x", "own");
    expect(await tx.get(pages.b, "x")).toBe("own");
    expect((await tx.row(pages, "x"))?.b).toBe("own");
  });

  test("is as of the start, whatever is committed meanwhile", async () => {
    await set("x", { a: "1", b: "2" });
    await using tx = await begin(expecting("b"));
    await tx.get(pages.a, "x");
    await set("x", { b: "3" });
    expect(await tx.get(pages.b, "x")).toBe("2");
  });

  test("is asked for once more where the answer ends before what was wanted", async () => {
    store = new DistantTestStore({ pageCells: 1 });
    context = distantContext(store, hooks);
    await set("x", { a: "1", b: "2" });
    await using tx = await begin(expecting("a"));
    expect(await tx.get(pages.b, "x")).toBe("2");
    expect(store.columnsRead("pages")).toEqual(["a b", "b"]);
  });
});

describe("a lock on a column that came ahead", () => {
  test("hinders nobody while the column is not read", async () => {
    await set("x", { a: "1", b: "2" });
    const other = await lockRow("x", { b: "3" });
    await using tx = await begin(expecting("b"));
    expect(await tx.get(pages.a, "x")).toBe("1");
    expect(store.mutations).toEqual([]);
    expect(hooks.count("push")).toBe(0);
    await other.commit();
  });

  test("is met when it is: the writer is pushed, and the snapshot stands", async () => {
    await set("x", { a: "1", b: "2" });
    const other = await lockRow("x", { b: "3" });
    await using tx = await begin(expecting("b"));
    await tx.get(pages.a, "x");
    expect(await tx.get(pages.b, "x")).toBe("2");
    expect(hooks.count("push")).toBe(1);
    await other.commit();
    expect(await tx.get(pages.b, "x")).toBe("2");
  });

  test("is looked at anew when it is read: it may be gone", async () => {
    await set("x", { a: "1", b: "2" });
    const other = await lockRow("x", { b: "3" });
    await using tx = await begin(expecting("b"));
    await tx.get(pages.a, "x");
    await other.commit();
    // Its commit timestamp was taken before this start: what came ahead shows an older value, under the lock.
    expect(await tx.get(pages.b, "x")).toBe("3");
    expect(hooks.count("push")).toBe(0);
  });
});

describe("a serializable transaction", () => {
  test("does not count as read what only came ahead", async () => {
    await set("x", { a: "1", b: "2" });
    await using tx = await begin(expecting("b"), "serializable");
    tx.set(pages.d, "y", (await tx.get(pages.a, "x"))!.length);
    await set("x", { b: "3" });
    await tx.commit();
  });

  test("counts what was at hand and read", async () => {
    await set("x", { a: "1", b: "2" });
    await using tx = await begin(expecting("b"), "serializable");
    await tx.get(pages.a, "x");
    tx.set(pages.d, "y", (await tx.get(pages.b, "x"))!.length);
    await set("x", { b: "3" });
    await expect(tx.commit()).rejects.toBeInstanceOf(ConflictError);
  });
});

test("hooks are told of what was read only", async () => {
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
