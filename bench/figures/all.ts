import { brokerage } from "../brokerage/figure.js";
import { bulk } from "../bulk/figure.js";
import { delay, documents, importing, notifications, oracle, overhead } from "../cases/figures.js";
import { postgresStore } from "../cases/postgres-figure.js";
import { clustering } from "../clustering/figure.js";
import { disk } from "../disk/figure.js";
import { growth } from "../growth/figure.js";
import { hydration } from "../hydration/figure.js";
import { memory } from "../memory/figure.js";
import { peer } from "../postgres/figure.js";
import { published } from "../published/figure.js";
import { recovery } from "../recovery/figure.js";
import { recrawl } from "../recrawl/figure.js";
import { scaling } from "../scaling/figure.js";
import { search } from "../search/figure.js";
import type { Figure } from "./figure.js";

/** Every figure of the page, in its order. */
export const figures: readonly Figure[] = [
  overhead,
  postgresStore,
  clustering,
  recrawl,
  growth,
  bulk,
  search,
  disk,
  delay,
  notifications,
  brokerage,
  scaling,
  recovery,
  oracle,
  documents,
  peer,
  memory,
  hydration,
  importing,
  published,
];
