import { expect, test } from "vitest";
import { llmsFiles } from "../../docs/.vitepress/llms.js";
import { allPages } from "./pages.js";

const { index, full } = llmsFiles("/docs/");

test("llms.txt has each page of the site once, with a first paragraph", async () => {
  const entries = [...index.matchAll(/^- \[(.+)\]\((\S+)\): (.+)$/gm)];
  expect(entries.length).toBe(index.split("\n").filter((line) => line.startsWith("- ")).length);
  const addresses = entries.map(([, , address]) => address!);
  expect(new Set(addresses).size).toBe(addresses.length);
  expect(addresses).toContain("/docs/first-hour.html");
  expect(addresses).toContain("/docs/recipes/");
  expect(addresses).toContain("/docs/examples/webindex.html");
  expect(addresses).toContain("/docs/decisions/house.html");
  for (const [, , , paragraph] of entries) expect(paragraph).not.toMatch(/\]\(|^#|^</);
  const inDocs = (await allPages()).filter(
    (path) => /^docs\/[\w-]+\.md$/.test(path) && path !== "docs/index.md",
  );
  const names = inDocs.map((path) => path.replace(/^docs\/(.+)\.md$/, "$1"));
  const found = (name: string) =>
    addresses.includes(`/docs/${name}.html`) || addresses.includes(`/docs/${name}/`);
  expect(names.filter((name) => !found(name))).toEqual([]);
});

test("llms-full.txt has the pages whole, without front matter", () => {
  for (const text of ["# The first hour", "# The protocol", "# Runtimes and platforms"]) {
    expect(full).toMatch(new RegExp(`^${text}`, "m"));
  }
  expect(full).not.toMatch(/^layout: /m);
});
