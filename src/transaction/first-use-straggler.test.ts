import { expect, test } from "vitest";
import { bareContext } from "../../test/support/context.js";
import { int, table } from "../schema/index.js";
import { memoryStore } from "../store/memory/index.js";
import { CoreTransaction } from "./core.js";
import { Transaction } from "./transaction.js";

const first = table("first", { value: int() });
const second = table("second", { value: int() });

test("no write is accepted while a commit records its tables", async () => {
  const bare = bareContext(memoryStore());
  const recorded: string[] = [];
  let tx: Transaction;
  let late: unknown;
  const context = {
    ...bare,
    schemas: {
      ...bare.schemas,
      known: ({ name }: { name: string }) => recorded.includes(name),
      record: async (tables: readonly { readonly name: string }[]) => {
        await undefined;
        // A function that the program did not await goes on now.
        try {
          tx.set(second.value, "row", 2);
        } catch (error) {
          late = error;
        }
        recorded.push(...tables.map(({ name }) => name));
      },
    },
  };
  tx = new Transaction(await CoreTransaction.begin(context));
  tx.set(first.value, "row", 1);
  await tx.commit();
  expect(recorded).toEqual(["first"]);
  expect(late).toBeDefined();
  const page = await bare.store.readRow({
    table: "second",
    row: Buffer.from("row"),
    columns: [{ exact: second.value.path }],
    at: Number.POSITIVE_INFINITY,
  });
  expect(page.cells).toEqual([]);
});

test("the event `rollback` has the error of a commit whose tables contradict the record", async () => {
  const bare = bareContext(memoryStore());
  const refused = new Error("contradicts");
  const schemas = { ...bare.schemas, known: () => false, record: () => Promise.reject(refused) };
  const context = { ...bare, schemas };
  const errors: unknown[] = [];
  context.events.on("rollback", ({ error }) => void errors.push(error));
  const tx = new Transaction(await CoreTransaction.begin(context));
  tx.set(first.value, "row", 1);
  await expect(tx.commit()).rejects.toBe(refused);
  expect(errors).toEqual([refused]);
});
