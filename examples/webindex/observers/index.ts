/**
 * The pipeline: contents -> extract -> cluster, invert -> relink. Both cluster and relink lead to
 * index, and index to merge.
 */
import { cluster, relink } from "./cluster.js";
import { elect } from "./elect.js";
import { extract } from "./extract.js";
import { index } from "./index-page.js";
import { invert } from "./invert.js";
import { merge } from "./merge.js";

export const observers = [extract, invert, cluster, elect, index, relink, merge];
