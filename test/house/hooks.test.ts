import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const project = fileURLToPath(new URL("../../", import.meta.url));
const atTopLevel = /^(?:before|after)(?:All|Each)\(/m;

/**
 * Test files share a process, and a module that several of them import runs once. Its hooks would
 * belong to the first of these files only: nothing would be removed after the tests of the others.
 */
test("no module that test files import has hooks at its top level", () => {
  const wrong = ["bench", "examples", "src", "test"]
    .flatMap((folder) =>
      readdirSync(join(project, folder), { recursive: true, encoding: "utf8" }).map((path) =>
        join(folder, path),
      ),
    )
    .filter((path) => path.endsWith(".ts") && !path.endsWith(".test.ts"))
    .filter((path) => atTopLevel.test(readFileSync(join(project, path), "utf8")));
  expect(wrong).toEqual([]);
});

test("the pattern matches a hook at the top level, and none in a function", () => {
  expect(atTopLevel.test("const made = [];\nafterEach(async () => {});")).toBe(true);
  expect(atTopLevel.test("function folder() {\n  afterEach(() => undefined);\n}")).toBe(false);
});
