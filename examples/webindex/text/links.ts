import { isFollowed, normalizeUrl, urlFitsKey } from "./url.js";

/** Makes the links of one page absolute. */
export class LinkResolver {
  /** The URL against which relative links are resolved. */
  readonly base: string;
  readonly #page: string;
  readonly #seen = new Map<string, string | undefined>();

  /** `base` is the page's declared base. An invalid base is ignored. */
  constructor(page: string, base?: string) {
    this.#page = page;
    const named = base === undefined ? undefined : normalizeUrl(base.trim(), page);
    this.base = named !== undefined && isFollowed(named, page) ? named : page;
  }

  /**
   * Resolves `href`. Returns `undefined` if it does not lead to another page that can be indexed.
   */
  resolve(href: string): string | undefined {
    const whole = withoutFragment(href);
    const known = this.#seen.get(whole);
    if (known !== undefined || this.#seen.has(whole)) return known;
    const url = this.#follow(whole);
    this.#seen.set(whole, url);
    return url;
  }

  #follow(href: string): string | undefined {
    const url = normalizeUrl(href, this.base);
    return url !== undefined && url !== this.#page && isFollowed(url, this.#page) && urlFitsKey(url)
      ? url
      : undefined;
  }
}

/**
 * Removes the fragment, so that links to several parts of a page are resolved once. White space
 * before a fragment belongs to the URL, which at the end of a URL it would not.
 */
function withoutFragment(href: string): string {
  const end = href.indexOf("#");
  return end < 0 || href.charCodeAt(end - 1) <= 0x20 ? href : href.slice(0, end);
}
