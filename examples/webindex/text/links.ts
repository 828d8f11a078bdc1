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
    const known = this.#seen.get(href);
    if (known !== undefined || this.#seen.has(href)) return known;
    const url = this.#follow(href);
    this.#seen.set(href, url);
    return url;
  }

  #follow(href: string): string | undefined {
    const url = normalizeUrl(href, this.base);
    return url !== undefined && url !== this.#page && isFollowed(url, this.#page) && urlFitsKey(url)
      ? url
      : undefined;
  }
}
