/** The pipeline: contents -> extract -> invert, cluster -> index -> merge. */
import { cluster, elect } from "./cluster.js";
import { extract } from "./extract.js";
import { indexPage } from "./index-page.js";
import { invert } from "./invert.js";
import { merge } from "./merge.js";

export const observers = [extract, invert, cluster, elect, indexPage, merge];
