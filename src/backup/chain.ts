import type { Pack } from "./manifest.js";

/** So many packs of about the same size are joined at once. */
const joined = 8;

/**
 * How many packs of an earlier backup a new one keeps. The new backup's own pack replaces the others:
 * it holds all pages that have changed since the last pack that is kept. 0: it holds all pages.
 *
 * A restore reads the whole chain, and deleted backups free only packs that no backup needs, so chains
 * must be short. The rule joins packs as soon as eight of them stand at the end of the chain, and the
 * first of these is not larger than the others together. So a chain has at most seven packs more than
 * the number of times that the size of a pack can double, and no page is written more often than that.
 */
export function keptPacks(packs: readonly Pick<Pack, "pages">[]): number {
  for (let from = 0; packs.length - from >= joined; from++) {
    const newer = packs.slice(from + 1).reduce((sum, { pages }) => sum + pages, 0);
    if (packs[from]!.pages <= newer) return from;
  }
  return packs.length;
}
