/**
 * The longest URL that is indexed, in bytes of UTF-8: row keys must hold it, two of them in the
 * table of links.
 */
export const maxUrlBytes = 1_200;

/** Whether `url` is short enough to be indexed. */
export function urlFitsKey(url: string): boolean {
  return url.length <= maxUrlBytes && Buffer.byteLength(url) <= maxUrlBytes;
}

/**
 * The one spelling of a URL that the index uses: resolved against `base`, without fragment, default
 * port, user name and password, otherwise as WHATWG's URL has it. `undefined` for what is no URL.
 */
export function normalizeUrl(href: string, base?: string): string | undefined {
  // A parser that fails by an answer: pages are full of what is no URL, and an exception each would
  // cost.
  if (!URL.canParse(href, base)) return undefined;
  const url = new URL(href, base);
  if (url.hash !== "" || url.href.endsWith("#")) url.hash = "";
  if (url.username !== "") url.username = "";
  if (url.password !== "") url.password = "";
  return url.href;
}

/**
 * Whether there can be a page at a URL that an archive names: `metadata:`, `urn:`, `dns:` and the
 * like name records.
 */
export function isOfTheWeb(url: string): boolean {
  return /^(?:https?|ftp):/.test(url);
}

/**
 * Whether a page at `from` may link to `to`: the web, or the same kind of place as the page itself.
 */
export function isFollowed(to: string, from: string): boolean {
  return /^https?:/.test(to) || scheme(to) === scheme(from);
}

function scheme(url: string): string {
  return url.slice(0, url.indexOf(":") + 1);
}
