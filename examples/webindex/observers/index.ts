/**
 * The pipeline: contents -> extract -> cluster, invert -> relink. Both cluster and relink lead to
 * index, and index to merge.
 */
import type { Observer } from "percolatordb";
import { cluster, relink } from "./cluster.js";
import { elect } from "./elect.js";
import { extract } from "./extract.js";
import { index } from "./index-page.js";
import { invert } from "./invert.js";
import { merge } from "./merge.js";

const others = [invert, cluster, elect, index, relink, merge];

/** The observers, with one that reads pages elsewhere than in this thread. */
export function observersWith(extract: Observer): readonly Observer[] {
  return [extract, ...others];
}

export const observers = observersWith(extract);
