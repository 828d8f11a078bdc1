import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { root } from "./examples.js";
import { tables, withTables } from "./observability.js";

test("docs/observability.md lists every metric and event of the code", async () => {
  const page = await readFile(join(root, "docs/observability.md"), "utf8");
  const named = [...page.matchAll(/<!-- table: (\w+) -->/g)].map(([, name]) => name);
  expect(named.toSorted()).toEqual(Object.keys(tables).sort());
  expect(page).toBe(withTables(page));
});
