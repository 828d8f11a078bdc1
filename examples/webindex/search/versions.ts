/** Groups the versions of one page, as documentation has them: `/3.11/intro.html`, `/3.12/intro.html`. */
import { parseTerms } from "../terms.js";

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
  const [a, b] = [parseTerms(one), parseTerms(other)];
  let common = 0;
  for (const term of a.keys()) if (b.has(term)) common++;
  return common >= leastCommon * (a.size + b.size - common);
}

/** A result and the other versions of its page, in the order of their scores. */
export interface VersionGroup<T> {
  readonly best: T;
  readonly others: readonly T[];
}

/**
 * Groups results that are versions of one page. Each group stands where its best result stood.
 * `termsOf` reads the stored terms of a page, and is called only if the URLs suggest versions.
 */
export async function groupVersions<T extends { readonly url: string }>(
  results: readonly T[],
  termsOf: (url: string) => Promise<string>,
): Promise<VersionGroup<T>[]> {
  const groups: { best: T; others: T[] }[] = [];
  const byKey = new Map<string, { best: T; others: T[] }[]>();
  for (const result of results) {
    const key = versionKey(result.url);
    const same = (key !== undefined && byKey.get(key)) || [];
    const group = await findGroup(same, result, termsOf);
    if (group !== undefined) {
      group.others.push(result);
      continue;
    }
    const made = { best: result, others: [] };
    groups.push(made);
    if (key !== undefined) byKey.set(key, [...same, made]);
  }
  return groups;
}

async function findGroup<T extends { readonly url: string }, G extends { readonly best: T }>(
  groups: readonly G[],
  { url }: T,
  termsOf: (url: string) => Promise<string>,
): Promise<G | undefined> {
  for (const group of groups) {
    if (isNearDuplicate(await termsOf(group.best.url), await termsOf(url))) return group;
  }
  return undefined;
}
