import { observer, open, table, text } from "percolatordb";
import { expect, test } from "vitest";

const pages = table("pages", { url: text(), copy: text() });

test("an observer that could not be unregistered is still run, and one that was is not", async () => {
  const copying = observer("copying", pages.url, (tx, { row, value }) => tx.set(pages.copy, row, `${value}`));
  await using db = await open("memory:", { tables: [pages], observers: [copying] });
  const refused = db.unregister("copying", { signal: AbortSignal.abort() });
  await expect(refused).rejects.toMatchObject({ code: "ABORTED" });
  await db.transact((tx) => tx.set(pages.url, "a", "x"));
  await db.drain();
  expect(await db.transact((tx) => tx.get(pages.copy, "a"))).toBe("x");
  await db.unregister("copying");
  expect(() => db.work({ observers: ["copying"] })).toThrow('does not have the observer "copying"');
});
