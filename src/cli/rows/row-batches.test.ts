import { expect, test } from "vitest";
import { open, table, text } from "../../index.js";
import type { Transaction } from "../../transaction/index.js";
import { type ImportState, RefusedRow, RowBatches } from "./row-batches.js";

const notes = table("notes", { text: text() });

test("a row whose cells do not fit into one transaction is refused by itself", async () => {
  await using db = await open("memory:", { tables: [notes], transactionBytes: 2_000 });
  const writer = {
    column: notes.text as never,
    set: (tx: Transaction, row: unknown, value: unknown) =>
      tx.set(notes.text, row as string, value as string),
    delete: () => {},
  };
  const parsed = (row: string, value: string) => ({
    line: 1,
    bytes: Buffer.from(row),
    row,
    cells: [{ writer, value }],
  });
  const batches = new RowBatches({ db, note: "n", signal: new AbortController().signal });
  const large = parsed("large", "x".repeat(3_000));
  const refused = batches.write([parsed("small", "x"), large], { offset: 9 } as ImportState);
  await expect(refused).rejects.toMatchObject({
    row: large,
    message: expect.stringContaining("do not fit into one"),
  });
  await expect(refused).rejects.toBeInstanceOf(RefusedRow);
});
