/** A small site for tests, as a source of pages. */
import type { Source, SourceItem } from "../sources/index.js";
import { compareWithTwin, type TableVerdict } from "../twin/compare.js";
import type { WebIndex } from "../webindex.js";

/**
 * What a site returns for a URL: an HTML page, `undefined` for a page that is gone, or `"same"` for
 * a revisit.
 */
export type Crawl = Readonly<Record<string, string | undefined | { readonly unchanged: true }>>;

export const unchanged = { unchanged: true } as const;

/** Makes an HTML page. `links` maps URLs to anchor texts. */
export function page(title: string, text: string, links: Readonly<Record<string, string>> = {}): string {
  const anchors = Object.entries(links).map(([url, anchor]) => `<a href="${url}">${anchor}</a>`);
  return `<!doctype html><title>${title}</title><p>${text}</p><p>${anchors.join(" ")}</p>`;
}

/** A source that yields a crawl. With a scope it lists every page of the site. */
export function crawlSource(crawl: Crawl, scope?: string): Source {
  const entries = Object.entries(crawl);
  return {
    kind: scope === undefined ? "archive" : "folder",
    path: "crawl",
    scope,
    async *items(): AsyncGenerator<SourceItem, void> {
      for (const [index, [url, said]] of entries.entries()) {
        const at = { file: "crawl", offset: index + 1, position: index + 1, total: entries.length };
        yield crawlItem(url, said, at);
      }
    },
  };
}

function crawlItem(
  url: string,
  said: Crawl[string],
  at: { readonly file: string; readonly offset: number; readonly position: number; readonly total: number },
): SourceItem {
  if (said === undefined) return { ...at, kind: "gone", url, status: 404, at: 0 };
  if (typeof said === "object") {
    return { ...at, kind: "unchanged", url, digest: undefined, refersTo: url, at: 0 };
  }
  const body = Buffer.from(said);
  return { ...at, kind: "page", url, contentType: "text/html", body, digest: undefined, at: 0 };
}

/** Loads a crawl, waits until it is indexed, and checks it against the twin. */
export async function crawl(index: WebIndex, pages: Crawl, scope?: string) {
  const report = await index.load(crawlSource(pages, scope));
  await index.settle();
  await expectTwin(index);
  return report;
}

/** Throws with the differences unless every table equals the twin's. */
export async function expectTwin(index: WebIndex): Promise<void> {
  await using view = await index.db.snapshot();
  const verdicts = await compareWithTwin(view);
  const wrong = verdicts.filter(({ different }) => different > 0);
  if (wrong.length > 0) throw new Error(wrong.map(show).join("\n"));
}

function show({ table, different, differences }: TableVerdict): string {
  return [`${table}: ${different} cells differ`, ...differences].join("\n  ");
}

/** A random number generator with a seed (mulberry32). */
export function seeded(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * below);
  };
}
