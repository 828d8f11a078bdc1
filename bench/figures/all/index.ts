import type { Figure } from "../figure.js";
import { brokerage } from "./brokerage.js";
import { clustering } from "./clustering.js";
import { delay } from "./delay.js";
import { documents } from "./documents.js";
import { memory } from "./memory.js";
import { notifications } from "./notifications.js";
import { oracle } from "./oracle.js";
import { overhead } from "./overhead.js";
import { peer } from "./peer.js";
import { recovery } from "./recovery.js";
import { recrawl } from "./recrawl.js";
import { scaling } from "./scaling.js";

/** Every figure of the page, in its order. */
export const figures: readonly Figure[] = [
  overhead,
  clustering,
  recrawl,
  delay,
  notifications,
  brokerage,
  scaling,
  recovery,
  oracle,
  documents,
  peer,
  memory,
];
