import { existsSync, readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { DefaultTheme } from "vitepress";

const docs = fileURLToPath(new URL("../", import.meta.url));
const examples = fileURLToPath(new URL("../../examples/", import.meta.url));

/** A page by its path under `docs/`, called by its own first heading unless a shorter name is given. */
function page(path: string, text?: string): DefaultTheme.SidebarItem {
  return { text: text ?? headingOf(join(docs, `${path}.md`)), link: `/${path}` };
}

function headingOf(file: string): string {
  const heading = /^# (.+)$/m.exec(readFileSync(file, "utf8"))?.[1];
  if (heading === undefined) throw new Error(`${file} has no heading of its own.`);
  return heading.replaceAll("`", "");
}

/** The pages of a folder but its first, by name. */
function folder(path: string): DefaultTheme.SidebarItem[] {
  const names = readdirSync(join(docs, path)).filter((name) => name.endsWith(".md") && name !== "index.md");
  return names.sort().map((name) => page(`${path}/${basename(name, ".md")}`));
}

/** The examples that have a page. */
export function exampleNames(): readonly string[] {
  return readdirSync(examples)
    .filter((name) => existsSync(join(examples, name, "README.md")))
    .sort();
}

function examplePages(): DefaultTheme.SidebarItem[] {
  return exampleNames().map((name) => ({
    text: headingOf(join(examples, name, "README.md")),
    link: `/examples/${name}`,
  }));
}

/** The API's pages, by entry and kind; none before `npm run docs:api`. */
function apiPages(): DefaultTheme.SidebarItem[] {
  const file = join(docs, "api", "pages.json");
  return existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as DefaultTheme.SidebarItem[]) : [];
}

/** A page that another part of the project may not have written yet. */
function ifThere(path: string): DefaultTheme.SidebarItem[] {
  return existsSync(join(docs, `${path}.md`)) ? [page(path)] : [];
}

const guide: DefaultTheme.SidebarItem[] = [
  {
    text: "Start",
    items: [
      page("first-hour"),
      page("guarantees"),
      page("how-it-works"),
      page("comparison"),
      page("coming-from"),
      page("coming-from-backends"),
      { ...page("examples"), collapsed: true, items: examplePages() },
    ],
  },
  {
    text: "Use",
    items: [
      page("testing"),
      page("pagination"),
      page("enums"),
      page("cron"),
      page("webhooks"),
      page("multi-tenant"),
      page("derivations"),
      page("schema-evolution", "Schema evolution"),
      page("expiry"),
      page("import-rows"),
      { text: "Recipes", link: "/recipes/", collapsed: true, items: folder("recipes") },
      page("change-feeds", "Change feeds"),
      page("live-queries"),
      page("live-applications"),
      page("live-over-http"),
      page("read-your-derived-writes"),
      page("command-line"),
      ...ifThere("dashboard"),
      page("observability"),
      page("alerts"),
      page("operations"),
      page("backup-and-restore"),
      page("operations-postgres"),
      page("postgres"),
      page("attached-tables"),
      page("postgres-views"),
      page("upgrading"),
      page("versioning"),
    ],
  },
  {
    text: "Look up",
    items: [
      page("options"),
      page("errors"),
      page("limits"),
      page("runtimes"),
      page("export-format"),
      page("glossary"),
    ],
  },
  {
    text: "Inside",
    items: [
      page("protocol"),
      page("proof"),
      page("scale"),
      ...ifThere("performance"),
      { ...page("decisions"), link: "/decisions/", collapsed: true, items: folder("decisions") },
    ],
  },
];

export const nav: DefaultTheme.NavItem[] = [
  { text: "First hour", link: "/first-hour" },
  { text: "Guarantees", link: "/guarantees" },
  { text: "How it works", link: "/how-it-works" },
  { text: "Recipes", link: "/recipes/" },
  { text: "API", link: "/api/" },
];

export const sidebar: DefaultTheme.SidebarMulti = {
  "/": [...guide, { text: "API", link: "/api/" }],
  "/api/": [
    { text: "The API", link: "/api/", items: apiPages() },
    { text: "Guide", link: "/first-hour" },
  ],
};
