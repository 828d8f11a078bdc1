import { readFile } from "node:fs/promises";
import { join } from "node:path";
import MiniSearch from "minisearch";
import { createMarkdownRenderer } from "vitepress";
import { searchOptions } from "../../docs/.vitepress/search.js";
import { slugOf } from "../../docs/.vitepress/slug.js";
import { root } from "./examples.js";
import { allPages } from "./pages.js";

/**
 * The search of the docs site, as VitePress builds its index and asks it. Leaves out the API's pages, which `npm run
 * docs:api` generates: {@link searchOptions} ranks them below these pages.
 */
export interface SiteSearch {
  /** Returns the pages with a result, the best one first, each once. */
  search(words: string): readonly string[];
}

export async function siteSearch(): Promise<SiteSearch> {
  const renderer = await createMarkdownRenderer(join(root, "docs"), { anchor: { slugify: slugOf } });
  const fields = ["title", "titles", "text"];
  const index = new MiniSearch({ fields, storeFields: ["title", "titles"] });
  for (const page of (await allPages()).filter((each) => each.startsWith("docs/"))) {
    const text = await readFile(join(root, page), "utf8");
    for (const { anchor, titles, text: shown } of sectionsOf(renderer.render(text, {}))) {
      // As on the site, so that its order of equal results is the same.
      index.add({
        id: `/${page.slice(5)}#${anchor}`,
        title: titles.at(-1),
        titles: titles.slice(0, -1),
        text: shown,
      });
    }
  }
  return {
    search(words) {
      const found = index.search(words, {
        fuzzy: 0.2,
        prefix: true,
        boost: { title: 4, text: 2, titles: 1 },
        ...searchOptions,
      });
      return [...new Set(found.map(({ id }) => String(id).split("#")[0]!.slice(1)))];
    },
  };
}

interface Section {
  readonly anchor: string;
  /** Its heading, after those that it belongs to. */
  readonly titles: readonly string[];
  readonly text: string;
}

/** Divides a page as VitePress does, which does not export it. */
function* sectionsOf(html: string): Generator<Section> {
  const parts = html.split(/<h(\d*).*?>(.*?<a.*? href="#.*?".*?>.*?<\/a>)<\/h\1>/gi).slice(1);
  const plain = (text: string) => text.replace(/<[^>]*>/g, "");
  let parents: string[] = [];
  for (let place = 0; place < parts.length; place += 3) {
    const level = Number(parts[place]) - 1;
    const [, heading = "", anchor = ""] =
      /(.*?)<a.*? href="#(.*?)".*?>.*?<\/a>/i.exec(parts[place + 1]!) ?? [];
    const title = plain(heading).trim();
    const content = parts[place + 2];
    if (title === "" || !content) continue;
    const titles = [...parents.slice(0, level), title].filter((each) => each !== undefined);
    yield { anchor, titles, text: plain(content) };
    if (level === 0) parents = [title];
    else parents[level] = title;
  }
}
