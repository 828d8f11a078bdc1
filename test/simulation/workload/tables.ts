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

/** How long a login lives, in milliseconds: some steps of a client. */
export const loginTtlMs = 300;

/** Only expiry deletes from it. */
export const logins = table("logins", { token: text() }, { ttlMs: loginTtlMs });

/** The logins that an observer has seen, and how often it saw one begin or end. */
export const sessions = table("sessions", { token: text(), open: int() });

/** Sums over all pages. */
export const totals = table("totals", { length: int() });

export const tables = [accounts, switches, pages, logins, sessions, totals];
