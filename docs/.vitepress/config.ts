import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { defineConfig } from "vitepress";
import { blockNames } from "./block-names.js";
import { inlineFigures } from "./figures.js";
import { linksOutside } from "./links.js";
import { llmsFiles } from "./llms.js";
import { nav, sidebar } from "./pages.js";
import { searchOptions } from "./search.js";
import { slugOf } from "./slug.js";
import { narrowTables } from "./tables.js";
import { wholeOptions } from "./whole-options.js";

/** Where the site is served, such as `/docs/`. */
const base = process.env.DOCS_BASE ?? "/";
/** Where the repository's files can be read, such as `https://HOST/OWNER/NAME/blob/main/`; without it, links to them are text. */
const repository = process.env.DOCS_REPOSITORY;

/** Their tables need the room of the outline. */
const widePages = new Set([
  "errors.md",
  "options.md",
  "limits.md",
  "comparison.md",
  "command-line.md",
  "performance.md",
]);

export default defineConfig({
  base,
  title: "percolatordb",
  description: "Transactions over any rows, and observers that keep derived data exactly up to date.",
  lang: "en",
  head: [["link", { rel: "icon", href: `${base}icon.svg`, type: "image/svg+xml" }]],
  // What decides where a page stands is its file: `decisions/` is a folder without a page of its own.
  rewrites: { "decisions.md": "decisions/index.md" },
  srcExclude: ["figures/**"],
  lastUpdated: false,
  // Otherwise each page would hold the menus and the file names of all pages, which are larger than most pages.
  metaChunk: true,
  async buildEnd({ outDir }) {
    const { index, full } = llmsFiles(base);
    await writeFile(join(outDir, "llms.txt"), index);
    await writeFile(join(outDir, "llms-full.txt"), full);
  },
  transformPageData({ relativePath, frontmatter }) {
    if (widePages.has(relativePath)) frontmatter.aside = false;
  },
  markdown: {
    theme: { light: "github-light-high-contrast", dark: "github-dark-default" },
    anchor: { slugify: slugOf },
    toc: { slugify: slugOf },
    headers: { slugify: slugOf },
    config(md) {
      md.use(linksOutside, { repository });
      md.use(inlineFigures);
      md.use(blockNames);
      md.use(narrowTables);
      md.use(wholeOptions);
    },
  },
  themeConfig: {
    nav: [...nav],
    sidebar,
    outline: { level: [2, 3] },
    search: { provider: "local", options: { miniSearch: { searchOptions } } },
    docFooter: { prev: "Before", next: "Next" },
    footer: { message: "Apache-2.0" },
    externalLinkIcon: true,
    notFound: {
      title: "There is no such page",
      quote: "The address may have changed. The search and the menu know all pages.",
      linkText: "To the first page",
      linkLabel: "To the first page",
    },
  },
  vite: { build: { chunkSizeWarningLimit: 4_000 } },
});
