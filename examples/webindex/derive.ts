/**
 * Plain functions that derive data from one page, or from the links to it. Both the observers and
 * the batch twin call them.
 */
import { type Contents, unpackContents } from "./contents.js";
import { contentHash } from "./identity.js";
import type { Anchors, Links } from "./tables.js";
import { wordsOf } from "./terms.js";
import { cut } from "./text/charset.js";
import { countTerms, extractInParts, limits, type Parts, whole } from "./text/index.js";

/** What the index takes from a page. */
export interface Description {
  readonly hash: string;
  readonly title: string;
  readonly words: string;
  readonly links: Links;
  /**
   * The parts that are cut off because the page has more than the index takes. `undefined` if the
   * page is complete.
   */
  readonly truncated: string | undefined;
}

/** The parts of a page that have a limit. */
export const truncations = ["links", "text", "terms"] as const;
export type Truncation = (typeof truncations)[number];

/** The links of a page are one value, which may have at most 10 MB. A transaction may have to replace all of them. */
const maxLinksBytes = 8_000_000;

/**
 * A page's anchors come from links to the members of its cluster. At most this many links are read,
 * to at most this many members.
 */
export const anchorLimits = { links: 200, members: 20 } as const;

/** Describes a page from its stored bytes. */
export function describePage(packed: Uint8Array, url: string): Description {
  return whole(describeInParts(packed, url));
}

/** As {@link describePage}, in parts. */
export function* describeInParts(packed: Uint8Array, url: string): Parts<Description> {
  const { contentType, body }: Contents = unpackContents(packed);
  const { title, text, links, truncatedLinks, truncatedText } = yield* extractInParts(body, contentType, url);
  const terms = yield* countTerms(text);
  const all = mergeLinks(links);
  const kept = firstLinks(all);
  const kinds = {
    links: truncatedLinks || kept.length < all.length,
    text: truncatedText,
    terms: terms.hasMore,
  };
  const truncated = truncations.filter((kind) => kinds[kind]).join(" ") || undefined;
  yield;
  const words = wordsOf(title, terms.counts);
  yield;
  return { hash: contentHash(body), title, words, links: kept, truncated };
}

/** The first links, up to the limit of their value. */
function firstLinks(all: Links): Links {
  let bytes = 0;
  const end = all.findIndex((link) => {
    bytes += Buffer.byteLength(JSON.stringify(link));
    return bytes > maxLinksBytes;
  });
  return end < 0 ? all : all.slice(0, end);
}

/** Merges all links to the same page into one, with all their different anchor texts. */
export function mergeLinks(all: Iterable<{ readonly url: string; readonly text: string }>): Links {
  const merged = new Map<string, Set<string>>();
  for (const { url, text } of all) {
    let texts = merged.get(url);
    if (texts === undefined) {
      texts = new Set();
      merged.set(url, texts);
    }
    if (text !== "") texts.add(text);
  }
  return [...merged].map(([url, texts]) => [url, cut([...texts].join(" "), limits.anchor)]);
}

/** Collects the anchors of a canonical page, one link after another, up to the limit. */
export class AnchorSample {
  readonly #times = new Map<string, number>();
  #left: number = anchorLimits.links;

  /** How many links may still be added. */
  get left(): number {
    return this.#left;
  }

  add(text: string): void {
    if (this.#left === 0) return;
    this.#left--;
    if (text !== "") this.#times.set(text, (this.#times.get(text) ?? 0) + 1);
  }

  get anchors(): Anchors {
    return [...this.#times];
  }
}
