import { family, int, signal, table, text } from "percolatordb";

export const accounts = table("accounts", {
  balance: int(),
  /** A mark of each transfer from the account, by its name. */
  marks: family(text()),
});

/** Two switches of a pair are never both off. */
export const switches = table("switches", { on: int() });

export const pages = table("pages", {
  text: text(),
  topic: text(),
  topicChanged: signal(),
  tags: family(text()),
  /** Of `text`. */
  length: int(),
  words: int(),
  reviewed: text(),
  mirrored: text(),
  /** Of `topic`. */
  topicSeen: text(),
  /** Of `tags`. */
  upperTags: family(text()),
});

/** Sums over all pages. */
export const totals = table("totals", { length: int() });

export const tables = [accounts, switches, pages, totals];
