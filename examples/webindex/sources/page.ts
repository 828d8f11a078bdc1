/** The items that every source yields. Archives, folders and packages all use the same types. */

/** How far a source has been read. */
export interface Progress {
  /** The path of the file from which this item came. */
  readonly file: string;
  /**
   * The offset at which the item begins, in bytes of the stored file. 0 for a file that is one
   * page.
   */
  readonly offset: number;
  /** Bytes of the whole source read so far. Never decreases. */
  readonly position: number;
  /** Bytes of the whole source. */
  readonly total: number;
}

/** A page as it is now: an HTTP 200 response, a resource record, or a file. */
export interface Page extends Progress {
  readonly kind: "page";
  /** Normalised: no fragment, no default port. */
  readonly url: string;
  /**
   * As sent by the server, including parameters, or derived from the file's name. HTML, Markdown or
   * plain text, nothing else.
   */
  readonly contentType: string;
  /**
   * Without transfer encoding and content encoding. At most {@link maxBodyBytes} long. It owns its
   * memory.
   */
  readonly body: Uint8Array;
  /**
   * The payload digest that the archive recorded (`sha1:BASE32`), after a successful check. Not
   * every archive has one.
   */
  readonly digest: string | undefined;
  /**
   * Digests of the payload as it was transferred, if the body was encoded. A later revisit may name
   * one of them. In the form that `normalDigest` returns. Default: none.
   */
  readonly payloadDigests?: readonly string[] | undefined;
  /** The time at which it was fetched or written, in milliseconds since the epoch. 0 if unknown. */
  readonly at: number;
}

/** A revisit record: the page was fetched again, and its body equalled an earlier one. */
export interface Unchanged extends Progress {
  readonly kind: "unchanged";
  readonly url: string;
  /** The payload digest, if the archive recorded one. The stored page must have it. */
  readonly digest: string | undefined;
  /**
   * The URL of the page with the equal body: `url` itself, unless the crawler recognised another
   * page's body.
   */
  readonly refersTo: string;
  /**
   * The time of the record with the equal body, in milliseconds since the epoch, if the archive
   * gives it. Default: unknown.
   */
  readonly refersToAt?: number | undefined;
  readonly at: number;
}

/** The server said that the page does not exist, or has moved permanently. */
export interface Gone extends Progress {
  readonly kind: "gone";
  readonly url: string;
  readonly status: 301 | 308 | 404 | 410;
  readonly at: number;
}

/**
 * An item that was read but is not indexed: not a text, a temporary redirect, or a server error. An
 * earlier version of the page stays.
 */
export interface Skipped extends Progress {
  readonly kind: "skipped";
  readonly url: string;
  readonly reason: string;
}

/** The kinds of problems. Each is counted separately. */
export type ProblemKind =
  /** Bytes of an archive or a record that cannot be read. */
  | "damage"
  /** A record that does not match its own digest. */
  | "digest"
  /** A body that cannot be decoded. */
  | "body"
  /** A page or a URL that is too long to be indexed. */
  | "too long"
  /** A record with invalid contents: no URL, no response, or a segment. */
  | "record"
  /** A file or a folder that cannot be read. */
  | "unreadable"
  /** A revisit of a page that was never loaded. */
  | "unseen"
  /** A revisit of a page that is stored with other contents. */
  | "stale"
  /** A revisit without a digest that could be compared, of a record that was not loaded. */
  | "other record";

/** Something that could not be read. Everything readable before and after it is still yielded. */
export interface Problem extends Progress {
  readonly kind: "problem";
  readonly what: ProblemKind;
  /**
   * The affected page, if known, so that a load does not treat it as gone. A URL that ends in `/`
   * means everything under it, for a folder that could not be listed.
   */
  readonly url: string | undefined;
  /** The problem in one sentence, without file and offset. */
  readonly message: string;
}

export type SourceItem = Page | Unchanged | Gone | Skipped | Problem;

/** Something to load pages from. */
export interface Source {
  readonly kind: "archive" | "folder" | "modules";
  /** The path that the source reads. */
  readonly path: string;
  /**
   * The prefix of the URLs, if one complete read lists every page. Then a page of the index under
   * this prefix that was not listed is gone. `undefined` for an archive, which contains only what
   * one crawl fetched.
   */
  readonly scope: string | undefined;
  /** Reads the source from the beginning. Throws only the signal's reason, after it was aborted. */
  items(signal?: AbortSignal): AsyncIterable<SourceItem>;
}

/**
 * The longest decoded body that a page may have, in bytes. A longer page is reported as a problem
 * and not loaded.
 */
export const maxBodyBytes = 9_500_000;

/** The given path is not a source. The message says what to do. */
export class SourceError extends Error {
  readonly path: string;

  constructor(path: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "SourceError";
    this.path = path;
  }
}
