import { unpackContents } from "../contents.js";
import type { Unchanged } from "../sources/index.js";
import { algorithmOf, hasDigest, normalDigest, parseDigest } from "../sources/warc/digest.js";

/** What is stored about a page. */
export interface Stored {
  readonly contents: Uint8Array;
  /** As in `documents.digests`. */
  readonly digests: string | undefined;
  /** As in `documents.captures`. */
  readonly captures: string | undefined;
}

/** The most digests to keep of a page. The latest are kept. */
const maxDigests = 8;
/** The most captures to keep of a page. */
const maxCaptures = 8;

/**
 * Compares a stored page with the digest that a revisit names. Returns `unknown` if the revisit
 * names no digest, or if no digest by the same algorithm is stored.
 */
export function compareDigest(label: string | undefined, stored: Stored): "same" | "other" | "unknown" {
  const wanted = normalDigest(label);
  if (wanted === undefined) return "unknown";
  const digest = parseDigest(label);
  if (digest !== undefined && hasDigest(digest, unpackContents(stored.contents).body)) return "same";
  const known = stored.digests?.split(" ") ?? [];
  if (known.includes(wanted)) return "same";
  // A page without stored digests was transferred unencoded. So if its contents were the same, its
  // body would have the digest.
  if (digest !== undefined && known.length === 0) return "other";
  return known.some((each) => each.startsWith(algorithmOf(wanted))) ? "other" : "unknown";
}

/**
 * Compares a stored page with a revisit by their digests. If no digest is comparable, returns
 * `other record` if the revisit refers to a record that the stored contents do not come from.
 * Otherwise returns `unknown`, because without a digest nothing proves that the contents are the
 * same.
 */
export function compareRevisit(
  { digest, refersToAt }: Pick<Unchanged, "digest" | "refersToAt">,
  stored: Stored,
): "same" | "other" | "other record" | "unknown" {
  const found = compareDigest(digest, stored);
  if (found !== "unknown" || refersToAt === undefined || stored.captures === undefined) return found;
  return stored.captures.split(" ").includes(captureOf(refersToAt)) ? "unknown" : "other record";
}

/**
 * Formats a time for `documents.captures`. Some archives give dates with fractions of a second, and
 * some without.
 */
export function captureOf(at: number): string {
  return String(Math.floor(at / 1_000));
}

/**
 * Adds a capture of unchanged contents to the captures of a page. Keeps the first capture, because
 * most revisits refer to it, and the latest ones. Adds nothing to a page without captures, such as
 * one from a folder, because the date of its contents is unknown.
 */
export function addCapture(before: string | undefined, at: number): string | undefined {
  if (before === undefined || at === 0) return before;
  const captures = before.split(" ");
  const one = captureOf(at);
  if (captures.includes(one)) return before;
  return [...captures.slice(0, 1), ...captures.slice(1).slice(2 - maxCaptures), one].join(" ");
}

/** Joins the digests of a page being loaded with those that its stored contents already have. */
export function joinDigests(
  loaded: readonly string[] | undefined,
  same: string | undefined,
): string | undefined {
  const digests = new Set([...(same === undefined ? [] : same.split(" ")), ...(loaded ?? [])]);
  return digests.size === 0 ? undefined : [...digests].slice(-maxDigests).join(" ");
}
