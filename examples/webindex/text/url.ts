/**
 * The longest URL that is indexed, in bytes of UTF-8. Row keys contain URLs, and the keys of the
 * links table contain two.
 */
export const maxUrlBytes = 1_200;

/** Whether `url` is short enough to be indexed. */
export function urlFitsKey(url: string): boolean {
  return url.length <= maxUrlBytes && Buffer.byteLength(url) <= maxUrlBytes;
}

/**
 * Returns the one spelling of a URL that the index uses: resolved against `base`, without fragment,
 * default port, user name and password, otherwise as the WHATWG URL standard specifies. Returns
 * `undefined` for an invalid URL.
 */
export function normalizeUrl(href: string, base?: string): string | undefined {
  // Checks first instead of catching an exception. Pages contain many invalid URLs, and exceptions
  // are slow.
  if (!URL.canParse(href, base)) return undefined;
  const url = new URL(href, base);
  if (url.hash !== "" || url.href.endsWith("#")) url.hash = "";
  if (url.username !== "") url.username = "";
  if (url.password !== "") url.password = "";
  return url.href;
}

/**
 * Whether a URL in an archive can be that of a page. `metadata:`, `urn:`, `dns:` and similar URLs
 * name records.
 */
export function isOfTheWeb(url: string): boolean {
  return /^(?:https?|ftp):/.test(url);
}

/**
 * Whether the index follows a link from `from` to `to`: to the web, or to a page with the same
 * scheme.
 */
export function isFollowed(to: string, from: string): boolean {
  return /^https?:/.test(to) || scheme(to) === scheme(from);
}

function scheme(url: string): string {
  return url.slice(0, url.indexOf(":") + 1);
}
