/** What is taken from a page. */

export interface Link {
  /** Absolute and normalised. Never the page itself, and never longer than a key may be. */
  readonly url: string;
  /** The anchor text, including the text of images, with white space collapsed. */
  readonly text: string;
}

export interface Document {
  /** The page's title, or its first heading, or `""`. At most {@link limits.title} characters. */
  readonly title: string;
  /** The visible text, with white space collapsed. At most {@link limits.text} characters. */
  readonly text: string;
  /** In the order of the page, with repetitions. At most {@link limits.links}. */
  readonly links: readonly Link[];
  /** The URL against which relative links were resolved: the page's URL, or its declared base. */
  readonly base: string;
  /** The encoding with which the text was decoded. */
  readonly charset: string;
  readonly truncatedText: boolean;
  readonly truncatedLinks: boolean;
}

/**
 * The limits for one page, in UTF-16 code units. Longer parts are cut off, and the document says
 * so.
 */
export const limits = {
  title: 500,
  text: 1_000_000,
  links: 20_000,
  anchor: 500,
  /** The length of a link as written. A longer one does not fit a key. */
  href: 8_000,
} as const;

/** What the reader of one format returns. The rest of {@link Document} is added to it. */
export type Content = Omit<Document, "charset">;

/** Replaces each run of white space in `text` by one space, and removes it at both ends. */
export function collapse(text: string): string {
  return collapseRuns(text).trim();
}

/** Replaces each run of white space in `text` by one space. */
export function collapseRuns(text: string): string {
  // Most runs are one space already. The pattern does not match these.
  return text.replace(/ \s+|[^\S ]\s*/g, " ");
}
