import { observer, open, type RowStore, StoreFullError, table, text } from "percolatordb";
import { memoryStore } from "percolatordb/memory";
import { expect, test } from "vitest";

const documents = table("documents", { contents: text() });
const seen = observer("seen", documents.contents, () => undefined);

test("an error during the close of a database does not stop the rest of the close", async () => {
  let [isFull, isClosed] = [false, false];
  const store: RowStore = memoryStore();
  const { mutate } = store;
  store.close = async () => {
    isClosed = true;
  };
  store.mutate = (mutation, options) => {
    const isSession = Buffer.from(mutation.row).toString().startsWith("session/");
    if (isFull && isSession) return Promise.reject(new StoreFullError("No space is left."));
    return mutate.call(store, mutation, options);
  };
  const db = await open(store, { observers: [seen] });
  await db.work().idle();
  isFull = true;
  await expect(db.close()).rejects.toThrow(StoreFullError);
  expect(isClosed).toBe(true);
  await expect(db.close()).rejects.toThrow(StoreFullError);
});
