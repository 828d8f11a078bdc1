import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const project = fileURLToPath(new URL("../../", import.meta.url));
const atTopLevel = /^(?:before|after)(?:All|Each)\(/m;

/** The files of TypeScript, by their path in the project. */
function files(): readonly string[] {
  return ["bench", "examples", "src", "test"]
    .flatMap((folder) =>
      readdirSync(join(project, folder), { recursive: true, encoding: "utf8" }).map((path) =>
        join(folder, path),
      ),
    )
    .filter((path) => path.endsWith(".ts"));
}

const textOf = (path: string) => readFileSync(join(project, path), "utf8");

/**
 * Test files share a process, and a module that several of them import runs once. Its hooks would
 * belong to the first of these files only: nothing would be removed after the tests of the others.
 */
test("no module that test files import has hooks at its top level", () => {
  const wrong = files().filter((path) => !path.endsWith(".test.ts") && atTopLevel.test(textOf(path)));
  expect(wrong).toEqual([]);
});

/** For the same reason, a module that another file has imported keeps what it has imported itself. */
test("no test replaces a module, because it would do so only if it ran first", () => {
  const call = ["vi", "mock("].join(".");
  const wrong = files().filter((path) => textOf(path).includes(call));
  expect(wrong).toEqual([]);
});

test("the pattern matches a hook at the top level, and none in a function", () => {
  expect(atTopLevel.test("const made = [];\nafterEach(async () => {});")).toBe(true);
  expect(atTopLevel.test("function folder() {\n  afterEach(() => undefined);\n}")).toBe(false);
});
