/** Groups the versions of one page, as documentation has them: `/3.11/intro.html`, `/3.12/intro.html`. */
import { parseTerms } from "../terms.js";
import { Turns } from "./turns.js";

/** A part of a path that names a version: `v2`, `3.11`, `1.0-rc2`, `latest`. */
const version =
  /^(?:v?\d+(?:[._]\d+){0,3}(?:[._x-]*(?:alpha|beta|dev|lts|rc|x)[.\d]*)?|canary|current|dev|devel|edge|latest|lts|main|master|next|nightly|release|stable)$/i;
const versionOfPackage = /@v?\d[^/]*$/;

/** Pages of which at least this share of all their terms is common are versions of one page. */
const leastCommon = 0.6;

/**
 * Returns what the URLs of all versions of a page have in common. `undefined` if no folder in the
 * URL names a version.
 */
export function versionKey(url: string): string | undefined {
  const parts = url.split("/");
  let isVersioned = false;
  // The last part is the page's own name.
  for (let at = 1; at < parts.length - 1; at++) {
    const named = parts[at]!;
    if (version.test(named)) parts[at] = "*";
    else parts[at] = named.replace(versionOfPackage, "@*");
    isVersioned ||= parts[at] !== named;
  }
  return isVersioned ? parts.join("/") : undefined;
}

/** Whether two pages with these stored terms say nearly the same. */
export function isNearDuplicate(one: string, other: string): boolean {
  return isAlike(parseTerms(one), parseTerms(other));
}

type Terms = ReadonlyMap<string, string>;

function isAlike(one: Terms, other: Terms): boolean {
  let common = 0;
  for (const term of one.keys()) if (other.has(term)) common++;
  return common >= leastCommon * (one.size + other.size - common);
}

/** A result and the other versions of its page, in the order of their scores. */
export interface VersionGroup<T> {
  readonly best: T;
  readonly others: readonly T[];
}

/**
 * The most groups of one key that a result is compared with. More different pages have the same key
 * only where a number in the URL names a page, as in `/article/17/`, and not a version.
 */
const mostGroups = 8;

/**
 * Groups results that are versions of one page. Each group stands where its best result stood.
 * `termsOf` reads the stored terms of a page. It is called once at most for a result, and only if the
 * URLs suggest versions.
 */
export async function groupVersions<T extends { readonly url: string }>(
  results: readonly T[],
  termsOf: (url: string) => Promise<string>,
  { signal, turns = new Turns() }: { readonly signal?: AbortSignal | undefined; readonly turns?: Turns } = {},
): Promise<VersionGroup<T>[]> {
  interface Group extends VersionGroup<T> {
    readonly others: T[];
    terms?: Terms;
  }
  const read = async ({ url }: T) => {
    const stored = await termsOf(url);
    return turns.run(() => parseTerms(stored));
  };
  const groups: Group[] = [];
  const byKey = new Map<string, Group[]>();
  for (const result of results) {
    const group: Group = { best: result, others: [] };
    const key = versionKey(result.url);
    const same = key === undefined ? [] : (byKey.get(key) ?? []);
    if (same.length > 0) {
      const terms = await read(result);
      for (const each of same) each.terms ??= await read(each.best);
      const found = turns.run(() => same.find((each) => isAlike(each.terms!, terms)));
      await turns.pass();
      signal?.throwIfAborted();
      if (found !== undefined) {
        found.others.push(result);
        continue;
      }
      if (same.length < mostGroups) group.terms = terms;
    }
    groups.push(group);
    if (key !== undefined && same.length < mostGroups) byKey.set(key, [...same, group]);
  }
  return groups;
}
