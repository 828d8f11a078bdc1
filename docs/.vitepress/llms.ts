import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { DefaultTheme } from "vitepress";
import { sourceOf } from "./links.js";
import { nav, sidebar } from "./pages.js";

const root = fileURLToPath(new URL("../../", import.meta.url));

const summary = `# percolatordb

> Google's Percolator for TypeScript: cross-row, cross-table ACID transactions with snapshot isolation, and observers
> that keep derived data exactly up to date. A database is a folder, a PostgreSQL schema or Cloud Bigtable, and the
> same program runs on all of them.
`;

interface Page {
  readonly title: string;
  /** From the site's root, such as `/first-hour`. */
  readonly link: string;
  readonly text: string;
}

interface Section {
  readonly title: string;
  readonly pages: readonly Page[];
}

/** The pages in the order of the sidebar. Leaves out the API, whose pages are made from the types. */
function sections(): readonly Section[] {
  const groups = (sidebar["/"] as DefaultTheme.SidebarItem[]).filter(({ items }) => items !== undefined);
  return groups.map(({ text, items }) => ({ title: text ?? "", pages: items!.flatMap(pagesOf) }));
}

function pagesOf({ text, link, items = [] }: DefaultTheme.SidebarItem): readonly Page[] {
  const below = items.flatMap(pagesOf);
  if (link === undefined) return below;
  const path = link.slice(1);
  const file = sourceOf(
    `${path === "decisions/" ? path.slice(0, -1) : `${path}${path.endsWith("/") ? "index" : ""}`}.md`,
  );
  const content = readFileSync(join(root, file), "utf8").replace(/^---\n.*?\n---\n/s, "");
  return [{ title: text ?? path, link, text: content.trim() }, ...below];
}

/** The first paragraph of a page, as one line without links. */
function firstParagraph(text: string): string {
  const paragraphs = text.split(/\n\n+/);
  const found = paragraphs.find((each) => /^[\p{L}`*[]/u.test(each)) ?? "";
  return found
    .replace(/\[([^\]]*)\]\([^)]*\)/g, "$1")
    .replace(/\s*\n\s*/g, " ")
    .trim();
}

/** The path of a page on the site. */
const addressOf = (base: string, link: string) =>
  `${base}${link.slice(1)}${link.endsWith("/") ? "" : ".html"}`;

/**
 * `llms.txt`: what the project is, and each page with its first paragraph, as llmstxt.org describes
 * it. `llms-full.txt`: the same pages, whole.
 */
export function llmsFiles(base: string): { readonly index: string; readonly full: string } {
  const all = sections();
  const index = all.map(({ title, pages }) => {
    const lines = pages.map(
      (page) => `- [${page.title}](${addressOf(base, page.link)}): ${firstParagraph(page.text)}`,
    );
    return `## ${title}\n\n${lines.join("\n")}\n`;
  });
  const api = (nav as DefaultTheme.NavItemWithLink[]).find(({ text }) => text === "API")!;
  const optional = `## Optional\n\n- [${api.text}](${addressOf(base, api.link as string)}): every exported name, from the types\n`;
  const full = all.flatMap(({ pages }) => pages.map(({ text }) => text));
  return {
    index: [summary, ...index, optional].join("\n"),
    full: `${[summary.trim(), ...full].join("\n\n---\n\n")}\n`,
  };
}
