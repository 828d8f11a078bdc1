import type { Page } from "../../examples/webindex/sources/index.js";
import { seeded } from "../../examples/webindex/testing/site.js";

/** A made site. */
export interface SiteShape {
  readonly pages: number;
  /** Links of each page. */
  readonly links: number;
  /** Words of each page. */
  readonly words: number;
  /** Links lead to pages among so many before the page. */
  readonly window: number;
}

const site = "https://site.example/";
const vocabulary = 20_000;
/** A third of a page's links lead to the first pages, as a site's navigation does. */
const navigation = 50;

const urlOf = (index: number) => `${site}section-${index % 97}/page-${index}`;
const wordOf = (index: number) => `w${(index * 7_919).toString(36)}`;

/**
 * Makes some pages of a site, with links to pages before them. After the first pages, all have the
 * same number of words and of links, and all of these have effects on pages that the index has. So
 * an index that costs more for later pages does so because it has grown.
 */
export function makePages({ pages, links, words, window }: SiteShape, from: number, to: number): Page[] {
  const made: Page[] = [];
  for (let index = from; index < to; index++) {
    const below = seeded(index + 1);
    const targets = new Set<number>();
    const near = Math.min(index, window);
    while (targets.size < Math.min(links, near)) {
      const isNavigation = targets.size * 3 < links;
      targets.add(isNavigation ? below(Math.min(navigation, index)) : index - 1 - below(near));
    }
    const text = Array.from({ length: words }, () => wordOf(rankOf(below)));
    const anchors = [...targets].map((target) => `<a href="${urlOf(target)}">${wordOf(target % 997)}</a>`);
    const body = `<!doctype html><title>Page ${index}</title><p>${text.join(" ")}</p><p>${anchors.join(" ")}</p>`;
    made.push({
      kind: "page",
      url: urlOf(index),
      contentType: "text/html",
      body: Buffer.from(body),
      digest: undefined,
      at: 0,
      file: "made",
      offset: index,
      position: index,
      total: pages,
    });
  }
  return made;
}

/** Common words are far more frequent than rare ones (Zipf's law). */
function rankOf(below: (most: number) => number): number {
  return Math.floor(vocabulary ** (below(1_000_000) / 1_000_000)) - 1;
}
