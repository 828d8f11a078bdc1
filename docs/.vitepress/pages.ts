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

/** An entry point of the API with its kinds, or a kind with its names. */
interface ApiItem {
  readonly text: string;
  readonly link: string;
  readonly items: readonly ApiItem[];
}

/** The API's entry points; none before `npm run docs:api`. */
const apiFile = join(docs, "api", "pages.json");
const entries: readonly ApiItem[] = existsSync(apiFile)
  ? (JSON.parse(readFileSync(apiFile, "utf8")) as ApiItem[])
  : [];

/**
 * The menu of a page of the API: all entry points, the kinds of its own, and the names of its own kind. With all
 * names, each page would hold a menu that is larger than itself.
 */
function apiMenu(own?: ApiItem, kind?: ApiItem): DefaultTheme.SidebarItem[] {
  const link = ({ text, link }: ApiItem) => ({ text, link });
  const kindItem = (item: ApiItem) =>
    item === kind ? { ...link(item), items: item.items.map(link) } : link(item);
  const entry = (item: ApiItem) =>
    item === own ? { ...link(item), items: item.items.map(kindItem) } : link(item);
  return [
    { text: "The API", link: "/api/", items: entries.map(entry) },
    { text: "Guide", link: "/first-hour" },
  ];
}

/** The menus by the folder of the pages. */
function apiMenus(): DefaultTheme.SidebarMulti {
  const menus: DefaultTheme.SidebarMulti = { "/api/": apiMenu() };
  for (const entry of entries) {
    menus[entry.link] = apiMenu(entry);
    for (const kind of entry.items) {
      const folder = kind.items[0]?.link.replace(/[^/]*$/, "");
      if (folder !== undefined && folder !== entry.link) menus[folder] = apiMenu(entry, kind);
    }
  }
  return menus;
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
      page("erasure"),
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
  ...apiMenus(),
};
