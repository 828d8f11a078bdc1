/**
 * The pipeline. A changed page: contents -> extract -> cluster -> merge. Its links: extract -> relink
 * -> merge. A page whose words changed but not its hash: extract -> index -> merge. A large
 * cluster: cluster or relink -> elect -> merge.
 */
import type { Observer } from "percolatordb";
import { cluster, relink } from "./cluster.js";
import { elect } from "./elect.js";
import { extract } from "./extract.js";
import { index } from "./index-page.js";
import { merge } from "./merge.js";

const others = [cluster, elect, index, relink, merge];

/** The observers, with `extract` in place of the one that reads pages in this thread. */
export function observersWith(extract: Observer): readonly Observer[] {
  return [extract, ...others];
}

export const observers = observersWith(extract);
