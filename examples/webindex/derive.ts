/**
 * What is derived from a page alone, and from the links to it: plain functions, for the observers
 * and the batch twin.
 */
import { type Contents, unpackContents } from "./contents.js";
import { contentHash } from "./identity.js";
import type { Anchors, Links } from "./tables.js";
import { wordsOf } from "./terms.js";
import { cut } from "./text/charset.js";
import { extract, hasMoreTerms, limits } from "./text/index.js";

/** What a page says. */
export interface Description {
  readonly hash: string;
  readonly title: string;
  readonly words: string;
  readonly links: Links;
  /** What of it is left out, as it is more than is indexed of a page; `undefined` if nothing is. */
  readonly truncated: string | undefined;
}

/** What of a page may be more than is indexed. */
export const truncations = ["links", "text", "terms"] as const;
export type Truncation = (typeof truncations)[number];

/** The links that are looked at to know a page's anchors, and the duplicates whose links are. */
export const anchorLimits = { links: 200, members: 20 } as const;

/** Reads a page as it is stored. */
export function describePage(packed: Uint8Array, url: string): Description {
  const { contentType, body }: Contents = unpackContents(packed);
  const { title, text, links, truncatedLinks, truncatedText } = extract(body, contentType, url);
  const truncatedTerms = hasMoreTerms(text);
  const kinds = { links: truncatedLinks, text: truncatedText, terms: truncatedTerms };
  const truncated = truncations.filter((kind) => kinds[kind]).join(" ") || undefined;
  const words = wordsOf(title, text);
  return { hash: contentHash(body), title, words, links: mergeLinks(links), truncated };
}

/** One link for each page that is linked to, with all its different anchor texts. */
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

/**
 * Gathers the anchors of a canonical page: links one by one, in order, as many as are looked at.
 */
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
