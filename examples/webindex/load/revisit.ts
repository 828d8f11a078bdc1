import { unpackContents } from "../contents.js";
import type { Unchanged } from "../sources/index.js";
import { algorithmOf, hasDigest, normalDigest, parseDigest } from "../sources/warc/digest.js";

/** What is stored of a page: what was loaded of it. */
export interface Stored {
  readonly contents: Uint8Array;
  /** As in `documents.digests`. */
  readonly digests: string | undefined;
  /** As in `documents.captures`. */
  readonly captures: string | undefined;
}

/** The most digests that are kept of a page; the latest. */
const maxDigests = 8;
/** The most captures that are kept of a page. */
const maxCaptures = 8;

/**
 * Whether a page that is stored is the one with the digest that a revisit names. `unknown`: the
 * revisit names none, or one that nothing is known of by its algorithm.
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

/**
 * Whether the page that is stored may be the one that a revisit means: by its digest, or else by
 * the record that it names. `other record`: no digest could be compared, and the record was not
 * loaded. `unknown`: neither could be compared.
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
 * A moment as in `documents.captures`: archives give some dates with fractions of a second, and
 * some without.
 */
export function captureOf(at: number): string {
  return String(Math.floor(at / 1_000));
}

/**
 * The captures of a page with one more of the same contents. The first is kept, which most revisits
 * name, and the latest. Of a page with none, as one of a folder, nothing can be said: it stays so.
 */
export function addCapture(before: string | undefined, at: number): string | undefined {
  if (before === undefined || at === 0) return before;
  const captures = before.split(" ");
  const one = captureOf(at);
  if (captures.includes(one)) return before;
  return [...captures.slice(0, 1), ...captures.slice(1).slice(2 - maxCaptures), one].join(" ");
}

/** The digests of a page that is loaded, with those that its stored contents have already. */
export function joinDigests(
  loaded: readonly string[] | undefined,
  same: string | undefined,
): string | undefined {
  const digests = new Set([...(same === undefined ? [] : same.split(" ")), ...(loaded ?? [])]);
  return digests.size === 0 ? undefined : [...digests].slice(-maxDigests).join(" ");
}
