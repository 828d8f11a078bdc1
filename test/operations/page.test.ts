import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { OperationsPage } from "./page.js";

/**
 * The test that follows docs/operations.md takes minutes and is not run with each change. This one sees
 * when the page and that test no longer name the same commands.
 */

const sources = ["operations.long.test.ts", "operated.ts"]
  .map((name) => readFileSync(new URL(name, import.meta.url), "utf8"))
  .join("\n");

test("the commands that the long test takes from docs/operations.md are there, and it leaves none out", () => {
  const page = new OperationsPage();
  const words = [...sources.matchAll(/"((?:[^"\\\n]|\\.)+)"/g)].map(([, word]) => word!);
  const commands = words.filter((word) => /^(percolator|node|cat|cp) /.test(word));
  expect(commands.length).toBeGreaterThan(10);
  for (const command of commands) page.take(command);
  for (const [, name] of sources.matchAll(/\["([a-z]+)", /g)) page.ran(name!);
  expect(page.unused).toEqual([]);
});
