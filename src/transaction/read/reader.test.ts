import { beforeEach, expect, test } from "vitest";
import { bareContext } from "../../../test/support/context.js";
import { LendingStore } from "../../../test/support/lending-store.js";
import { StaleSnapshotError } from "../../errors/index.js";
import { definition, encodeRow, table, text } from "../../schema/index.js";
import type { Columns } from "../../store/index.js";
import { memoryStore } from "../../store/memory/index.js";
import type { TransactionContext } from "../context.js";
import { noHooks } from "../steps.js";
import { transact } from "../transact.js";
import { SnapshotReader } from "./reader.js";

const pages = table("pages", { title: text(), contents: text() });
const row = encodeRow(pages[definition], "a");
const { title, contents } = pages;

let context: TransactionContext;

beforeEach(async () => {
  context = bareContext(new LendingStore(memoryStore()));
  await transact(context, (tx) => tx.set(title, "a", "one"));
});

async function readerNow(options?: ConstructorParameters<typeof SnapshotReader>[2]): Promise<SnapshotReader> {
  return new SnapshotReader(context, await context.oracle.next(), options);
}

test("a row that the store lends at once stays valid afterwards", async () => {
  const { cells } = await (await readerNow()).row("pages", row, [{ exact: title.path }]);
  await new Promise((resolve) => setImmediate(resolve));
  expect(cells.map(({ value }) => value?.toString())).toEqual(["one"]);
});

test("a row read at once is recorded for a serializable transaction", async () => {
  const recorded: Columns[] = [];
  const recorder = {
    row: (_table: string, _row: Uint8Array, read: Columns) => recorded.push(read),
    range() {},
  };
  const columns = [{ exact: contents.path }, { exact: title.path }];
  await (await readerNow({ recorder })).row("pages", row, columns);
  expect(recorded).toEqual([columns]);
});

test("a hook sees each column of a row that is read at once", async () => {
  const seen: (string | undefined)[] = [];
  context = {
    ...context,
    hooks: { ...noHooks, read: ({ value }) => seen.push(value && Buffer.from(value).toString()) },
  };
  await (await readerNow()).row("pages", row, [{ exact: contents.path }, { exact: title.path }]);
  expect(seen.sort()).toEqual(["one", undefined]);
});

test("a row read at once is stale if collection may have dropped a version of an absent column", async () => {
  const reader = await readerNow();
  await context.safepoint.publish((await context.oracle.next()) + 1);
  const read = async (columns: Columns) => await reader.row("pages", row, columns);
  await expect(read([{ exact: contents.path }, { exact: title.path }])).rejects.toThrow(StaleSnapshotError);
  // Collection keeps the newest write of a cell.
  expect((await read([{ exact: title.path }])).cells).toHaveLength(1);
});
