import { family, int, signal, table, text } from "percolatordb";

export const accounts = table("accounts", {
  balance: int(),
  /** A mark for each transfer from the account, by the transfer's name. */
  marks: family(text()),
});

/** Two switches of a pair are never both off. */
export const switches = table("switches", { on: int() });

export const pages = table("pages", {
  text: text(),
  topic: text(),
  topicChanged: signal(),
  tags: family(text()),
  /** The length of `text`. */
  length: int(),
  words: int(),
  reviewed: text(),
  mirrored: text(),
  /** From `topic`. */
  topicSeen: text(),
  /** From `tags`. */
  upperTags: family(text()),
});

/** Sums over all pages. */
export const totals = table("totals", { length: int() });

export const tables = [accounts, switches, pages, totals];
