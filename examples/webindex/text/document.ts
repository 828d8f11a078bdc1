/** What is taken from a page. */

export interface Link {
  /** Absolute and normalised; never the page itself, and at most as long as a key may be. */
  readonly url: string;
  /** The anchor text, with the text of images; white space collapsed. */
  readonly text: string;
}

export interface Document {
  /**
   * The page's title, else its first heading, else `""`; at most {@link limits.title} characters.
   */
  readonly title: string;
  /** What a reader sees, white space collapsed; at most {@link limits.text} characters. */
  readonly text: string;
  /** In the order of the page, repeated ones too; at most {@link limits.links}. */
  readonly links: readonly Link[];
  /** What relative links were resolved against: the page's URL, or what it names as its base. */
  readonly base: string;
  /** The encoding that the text was read by. */
  readonly charset: string;
  readonly truncatedText: boolean;
  readonly truncatedLinks: boolean;
}

/**
 * The bounds of one page, in UTF-16 units. What is beyond them is left out, and the document says
 * so.
 */
export const limits = {
  title: 500,
  text: 1_000_000,
  links: 20_000,
  anchor: 500,
  /** Of a link as written; no longer one fits a key. */
  href: 8_000,
} as const;

/** What a format's own reader finds; the rest of {@link Document} is added around it. */
export type Content = Omit<Document, "charset">;

/** `text` with each run of white space made one space, and none at its ends. */
export function collapse(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}
