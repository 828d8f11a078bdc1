import { existsSync, readFileSync, statSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { dirname, join, posix } from "node:path";
import { marked, type Token } from "marked";
import { expect, test } from "vitest";
import { sourceOf, target } from "../../docs/.vitepress/links.js";
import { nav, sidebar } from "../../docs/.vitepress/pages.js";
import { slugOf } from "../../docs/.vitepress/slug.js";
import { drawings } from "../../scripts/figures/index.js";
import { root } from "./examples.js";
import { allPages } from "./pages.js";

/**
 * Checks the site without building it. `npm run docs:build` builds it and fails if a link is
 * broken.
 */

interface Link {
  readonly page: string;
  readonly href: string;
}

function* tokensOf(tokens: readonly Token[]): Generator<Token> {
  for (const token of tokens) {
    yield token;
    if ("tokens" in token && token.tokens !== undefined) yield* tokensOf(token.tokens);
    if (token.type === "list") for (const item of token.items as Token[]) yield* tokensOf([item]);
    if (token.type === "table") {
      for (const row of [token.header, ...token.rows] as { readonly tokens: Token[] }[][]) {
        for (const cell of row) yield* tokensOf(cell.tokens);
      }
    }
  }
}

const pages = await allPages();
const textOf = (page: string) => readFileSync(join(root, page), "utf8");

function linksOf(page: string): readonly Link[] {
  return [...tokensOf(marked.lexer(textOf(page)))].flatMap((token) =>
    token.type === "link" || token.type === "image" ? [{ page, href: String(token.href) }] : [],
  );
}

/** Returns the anchors of a page's headings. A repeated name gets a number. */
function anchorsOf(page: string): ReadonlySet<string> {
  const anchors = new Set<string>();
  for (const token of tokensOf(marked.lexer(textOf(page)))) {
    if (token.type !== "heading") continue;
    const text = [...tokensOf(token.tokens ?? [])]
      .filter(({ type }) => type === "text" || type === "codespan")
      .map((each) => unescaped("text" in each ? String(each.text) : ""))
      .join("");
    const slug = slugOf(text);
    let anchor = slug;
    for (let n = 1; anchors.has(anchor); n++) anchor = `${slug}-${n}`;
    anchors.add(anchor);
  }
  return anchors;
}

const unescaped = (text: string) =>
  text.replaceAll("&quot;", '"').replaceAll("&lt;", "<").replaceAll("&amp;", "&");

test("every link within the repository leads to an existing file and heading", () => {
  const dead = pages.flatMap(linksOf).flatMap(({ page, href }) => {
    if (/^[a-z]+:/i.test(href) || href.startsWith("/")) return [];
    const [path = "", anchor] = href.split("#");
    const file = path === "" ? page : posix.join(posix.dirname(page), path);
    // `npm run docs:api` generates it. It is not in the repository.
    if (file.startsWith("docs/api/")) return [];
    if (!existsSync(join(root, file))) return [`${page}: ${href}`];
    if (anchor === undefined || !file.endsWith(".md") || anchorsOf(file).has(anchor)) return [];
    return [`${page}: ${href} (no such heading)`];
  });
  expect(dead).toEqual([]);
});

test("every file of the repository that a page names in code exists", () => {
  const named = /`((?:src|test|examples|bench|scripts|deploy|web)\/[\w./-]+\.\w+)(?::\d+)?`/g;
  const missing = pages.flatMap((page) =>
    [...textOf(page).matchAll(named)]
      .filter(([, file]) => !existsSync(join(root, file!)))
      .map(([, file]) => `${page}: ${file}`),
  );
  expect(missing).toEqual([]);
});

test("every page is in the sidebar once, and each sidebar link is a page", () => {
  const links: string[] = [];
  const walk = (items: readonly { readonly link?: string; readonly items?: readonly object[] }[]) => {
    for (const item of items) {
      if (item.link !== undefined) links.push(item.link);
      walk((item.items ?? []) as typeof items);
    }
  };
  walk(sidebar["/"] as Parameters<typeof walk>[0]);
  const wanted = pages.flatMap((page) => {
    if (/^[A-Z]+\.md$/.test(page) || page === "docs/index.md") return [];
    const path = page
      .replace(/^docs\//, "/")
      .replace(/^examples\/([\w-]+)\/README\.md$/, "/examples/$1")
      .replace(/\.md$/, "");
    return path === "/decisions" ? "/decisions/" : path.replace(/\/index$/, "/");
  });
  expect(links.filter((link) => link !== "/api/").sort()).toEqual(wanted.sort());
  const navigated = nav.map((item) => ("link" in item ? item.link : ""));
  expect(navigated.filter((link) => link !== "/api/" && !links.includes(String(link)))).toEqual([]);
});

test("docs/examples.md mentions every example with a page", async () => {
  const text = await readFile(join(root, "docs/examples.md"), "utf8");
  const missing = pages.filter((page) => page.startsWith("examples/") && !text.includes(`(../${page})`));
  expect(missing).toEqual([]);
});

test("links between pages match the site, and links out of it lead to existing files of the repository", () => {
  const repository = "https://example.org/blob/main/";
  expect(sourceOf("examples/webindex.md")).toBe("examples/webindex/README.md");
  expect(target("../../docs/decisions/webindex.md", "examples/webindex.md", {})).toBe(
    "/decisions/webindex.md",
  );
  expect(target("../examples/webindex/README.md", "examples.md", {})).toBe("/examples/webindex.md");
  expect(target("scale.md#where-it-bends", "operations.md", {})).toBe("/scale.md#where-it-bends");
  expect(target("../deploy/Dockerfile", "operations.md", {})).toBe(undefined);
  expect(target("../deploy/Dockerfile", "operations.md", { repository })).toBe(
    `${repository}deploy/Dockerfile`,
  );
  expect(target("https://example.org/", "operations.md", {})).toBe("https://example.org/");
  expect(target("#first", "operations.md", {})).toBe("#first");
});

test.each(drawings)(
  "docs/figures/%s.svg matches the code (`npm run docs:figures` draws it again)",
  async (name, make) => {
    expect(await readFile(join(root, "docs/figures", `${name}.svg`), "utf8")).toBe(await make());
  },
);

test("every drawn figure is on a page", () => {
  const all = pages.map(textOf).join("\n");
  expect(drawings.map(([name]) => name).filter((name) => !all.includes(`figures/${name}.svg)`))).toEqual([]);
});

test("every page about a concept has a figure", () => {
  // These are references, instructions, comparisons, or a program.
  const others =
    "alerts coming-from coming-from-backends command-line comparison decisions enums erasure errors examples export-format " +
    "first-hour glossary import-rows limits observability operations operations-postgres options postgres proof " +
    "runtimes scale testing upgrading versioning recipes/index recipes/transient-ranges";
  const without = pages.filter(
    (page) => /^docs\/(recipes\/)?[\w-]+\.md$/.test(page) && !textOf(page).includes("!["),
  );
  expect(without).toEqual(
    pages.filter((page) => others.split(" ").some((name) => page === `docs/${name}.md`)),
  );
});

test("the site loads nothing from other servers: no page, style or figure contains an external resource", () => {
  for (const page of pages)
    expect(textOf(page), page).not.toMatch(/<(script|img|link|iframe)\b[^>]*\b(src|href)="https?:/);
  const style = join(root, "docs/.vitepress/theme/style.css");
  expect(statSync(dirname(style)).isDirectory()).toBe(true);
  expect(readFileSync(style, "utf8")).not.toMatch(/url\(|@import/);
  for (const [name] of drawings)
    expect(textOf(`docs/figures/${name}.svg`), name).not.toMatch(/href="https?:|url\(["']?https?:|@import/);
});
