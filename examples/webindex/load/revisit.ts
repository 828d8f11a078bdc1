import { unpackContents } from "../contents.js";
import { algorithmOf, hasDigest, normalDigest, parseDigest } from "../sources/warc/digest.js";

/** What is stored of a page: what was loaded of it. */
export interface Stored {
  readonly contents: Uint8Array;
  /** As in `documents.digests`. */
  readonly digests: string | undefined;
}

/** The most digests that are kept of a page; the latest. */
const mostDigests = 8;

/**
 * Whether a page that is stored is the one with the digest that a revisit names. `unknown`: the revisit names none, or one
 * that nothing is known of by its algorithm.
 */
export function compareDigest(label: string | undefined, stored: Stored): "same" | "other" | "unknown" {
  const wanted = normalDigest(label);
  if (wanted === undefined) return "unknown";
  const digest = parseDigest(label);
  if (digest !== undefined && hasDigest(digest, unpackContents(stored.contents).body)) return "same";
  const known = stored.digests?.split(" ") ?? [];
  if (known.includes(wanted)) return "same";
  // A page without digests of its own was transferred as its body, which has another one.
  if (digest !== undefined && known.length === 0) return "other";
  return known.some((each) => each.startsWith(algorithmOf(wanted))) ? "other" : "unknown";
}

/** The digests of a page that is loaded, with those that its stored contents have already. */
export function joinDigests(
  loaded: readonly string[] | undefined,
  same: string | undefined,
): string | undefined {
  const digests = new Set([...(same === undefined ? [] : same.split(" ")), ...(loaded ?? [])]);
  return digests.size === 0 ? undefined : [...digests].slice(-mostDigests).join(" ");
}
