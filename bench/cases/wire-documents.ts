import type { Source, SourceItem } from "../../examples/webindex/sources/index.js";
import { randomNumbers } from "../harness/data.js";

export interface SiteShape {
  readonly pages: number;
  /** The number of words and links on a page. */
  readonly words: number;
  readonly links: number;
}

const vocabulary = 6_000;
/** Half of all links lead to this many pages, as links in the headers of a real site do. */
const popularPages = 25;

/**
 * A crawl of a generated site, the same every time. The pages that `changed` selects have another
 * text and other links.
 */
export function siteCrawl(shape: SiteShape, changed: (page: number) => boolean = () => false): Source {
  return {
    kind: "archive",
    path: "a made-up site",
    scope: undefined,
    async *items(): AsyncGenerator<SourceItem, void> {
      for (let page = 0; page < shape.pages; page++) {
        const at = { file: "site", offset: page + 1, position: page + 1, total: shape.pages };
        const body = Buffer.from(pageOf(shape, page, changed(page) ? 1 : 0));
        yield {
          ...at,
          kind: "page",
          url: urlOf(page),
          contentType: "text/html",
          body,
          digest: undefined,
          at: 0,
        };
      }
    },
  };
}

function urlOf(page: number): string {
  return `https://www.example.org/manual/${String(page).padStart(5, "0")}.html`;
}

function pageOf({ pages, words, links }: SiteShape, page: number, salt: number): string {
  const random = randomNumbers(page * 2 + salt + 1);
  // Squared, so that some words are frequent and most are rare.
  const word = () => `w${Math.floor((random(10_000) / 10_000) ** 2 * vocabulary)}`;
  const target = (link: number) => random(link % 2 === 0 ? Math.min(popularPages, pages) : pages);
  const text = Array.from({ length: words }, word).join(" ");
  const anchors = Array.from(
    { length: links },
    (_, link) => `<a href="${urlOf(target(link))}">${word()} ${word()}</a>`,
  );
  return `<!doctype html><title>Page ${page} ${word()}</title><p>${text}</p><p>${anchors.join(" ")}</p>`;
}
