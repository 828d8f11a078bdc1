import { expect, test } from "vitest";
import { openTest } from "../../../test/support/observer/context.js";
import { table, text } from "../../schema/index.js";
import { allColumns } from "../../store/index.js";
import { memoryStore } from "../../store/memory/index.js";
import { decodeWrite } from "../../transaction/index.js";
import { observer, parseRecordColumn, unregister } from "../index.js";

const pages = table("pages", { url: text() });
const sites = table("sites", { url: text() });

test("unregistering a name again removes what an interrupted call has left in another table", async () => {
  const store = memoryStore();
  const one = await openTest({ store, observers: [observer("o", pages.url, () => {})] });
  await one.transact((tx) => tx.set(pages.url, "a", "x"));
  await one.pool.drain();
  const controller = new AbortController();
  const interrupted = unregister(one.registry, "o", {
    signal: controller.signal,
    onProgress: () => controller.abort(),
  });
  await expect(interrupted).rejects.toMatchObject({ code: "ABORTED" });
  await one.close();
  const two = await openTest({ store, tables: [pages], observers: [observer("o", sites.url, () => {})] });
  await unregister(two.registry, "o");
  // Nothing is left to continue:
  await expect(unregister(two.registry, "o")).rejects.toThrow("No observer named");
  const page = await store.readRange({ table: "pages", columns: allColumns, at: Number.POSITIVE_INFINITY });
  const left = page.rows.flatMap(({ cells }) =>
    cells.filter(
      ({ column, write }) =>
        parseRecordColumn(column) !== undefined && write && decodeWrite(write.value).kind === "put",
    ),
  );
  expect(left).toEqual([]);
  await two.close();
});
