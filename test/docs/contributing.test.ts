import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { root } from "./examples.js";

const textOf = (path: string) => readFileSync(join(root, path), "utf8");
const text = textOf("CONTRIBUTING.md");

test("the page for contributors names each room, in the order of the house", () => {
  const [, table = ""] = text.split("## The house in one page");
  const rows = table.split("## ")[0]!.matchAll(/^\| (`.+?) \|/gm);
  const named = [...rows].flatMap(([, cell]) => [...cell!.matchAll(/`(\w+)`/g)].map(([, name]) => name!));
  const folders = readdirSync(join(root, "src"), { withFileTypes: true }).filter((entry) =>
    entry.isDirectory(),
  );
  expect(named.toSorted()).toEqual(folders.map(({ name }) => name).toSorted());
  const order = textOf("test/house/rooms.test.ts").match(/const rooms = \[(.*?)\]/s)![1]!;
  const inOrder = [...order.matchAll(/"(\w+)"/g)].map(([, name]) => name);
  expect(named).toEqual(inOrder);
});

test.each(["CONTRIBUTING.md", "SECURITY.md"])("%s names only commands that exist", (page) => {
  const { scripts } = JSON.parse(textOf("package.json")) as { readonly scripts: Record<string, string> };
  const commands = [...textOf(page).matchAll(/npm run ([\w:-]+)/g)].map(([, name]) => name!);
  expect(commands.filter((name) => !(name in scripts))).toEqual([]);
});

test("the workflow runs the same script as every other machine", () => {
  const workflow = textOf(".github/workflows/ci.yml");
  expect(workflow).toContain(".ci/run");
  for (const [path] of workflow.matchAll(/\bsrc\/[\w/]+/g))
    expect(readdirSync(join(root, path))).not.toEqual([]);
});
