/** What every source yields: one shape for archives, folders and packages. */

/** How far a source has been read. */
export interface Progress {
  /** The file this came from, as a path. */
  readonly file: string;
  /** Where in `file` it begins, in bytes of the file as stored; 0 for a file that is one page. */
  readonly offset: number;
  /** Bytes of the whole source read so far; never decreases. */
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
   * As the server sent it, parameters included, or by the file's name. HTML, Markdown or plain
   * text, nothing else.
   */
  readonly contentType: string;
  /** Without transfer and content encoding; at most {@link maxBodyBytes}. Owns its memory. */
  readonly body: Uint8Array;
  /**
   * The payload digest that the archive recorded (`sha1:BASE32`), checked. Not every archive has
   * one.
   */
  readonly digest: string | undefined;
  /**
   * Digests of the payload that `body` does not have, as it was transferred with an encoding: a
   * later revisit may name one of them. In the spelling of `normalDigest`. Default: none.
   */
  readonly payloadDigests?: readonly string[] | undefined;
  /** When it was fetched or written, milliseconds since the epoch; 0 if that is not known. */
  readonly at: number;
}

/** A revisit record: the page was fetched again and its body was the one recorded before. */
export interface Unchanged extends Progress {
  readonly kind: "unchanged";
  readonly url: string;
  /** The payload digest that the archive recorded, if it did: what is stored must have it. */
  readonly digest: string | undefined;
  /**
   * The URL whose body it equals: `url` itself, unless the crawler recognised another page's body.
   */
  readonly refersTo: string;
  /**
   * When the record was made whose body it equals, milliseconds since the epoch, if the archive
   * says so. Default: it does not.
   */
  readonly refersToAt?: number | undefined;
  readonly at: number;
}

/** The server said that there is no page here, or that it has moved for good. */
export interface Gone extends Progress {
  readonly kind: "gone";
  readonly url: string;
  readonly status: 301 | 308 | 404 | 410;
  readonly at: number;
}

/**
 * Read well, and of no use here: not a text, a passing redirect, a server's failure. Says nothing
 * about an earlier version.
 */
export interface Skipped extends Progress {
  readonly kind: "skipped";
  readonly url: string;
  readonly reason: string;
}

/** Kinds of problems, which are counted apart. */
export type ProblemKind =
  /** Bytes of an archive or a record that cannot be read. */
  | "damage"
  /** A record that does not have its own digest. */
  | "digest"
  /** A body that cannot be decoded. */
  | "body"
  /** A page, or a URL, that is longer than can be indexed. */
  | "too long"
  /** A record that cannot be understood: no URL, no response, a segment. */
  | "record"
  /** A file or a folder that cannot be read. */
  | "unreadable"
  /** A revisit of a page that was never loaded. */
  | "unseen"
  /** A revisit of a page that is stored with other contents. */
  | "stale"
  /** A revisit without a digest that could be compared, of a record that was not loaded. */
  | "other record";

/**
 * Something that could not be read. Everything readable before and after it is yielded all the
 * same.
 */
export interface Problem extends Progress {
  readonly kind: "problem";
  readonly what: ProblemKind;
  /**
   * The page concerned, if that is known, so that a load does not take it for gone. One that ends
   * in `/` stands for everything under it: a folder that could not be listed.
   */
  readonly url: string | undefined;
  /** What is wrong, in one sentence, without file and offset. */
  readonly message: string;
}

export type SourceItem = Page | Unchanged | Gone | Skipped | Problem;

/** Something to load pages from. */
export interface Source {
  readonly kind: "archive" | "folder" | "modules";
  /** The path that it reads. */
  readonly path: string;
  /**
   * If one reading lists every page there is, the prefix of their URLs: a page of the index under
   * it that a complete reading did not list is gone. `undefined` for an archive, which holds what
   * one crawl fetched.
   */
  readonly scope: string | undefined;
  /**
   * Reads it from the beginning. Throws the signal's reason once it is aborted, and nothing else.
   */
  items(signal?: AbortSignal): AsyncIterable<SourceItem>;
}

/**
 * The longest body a page may have, in bytes, decoded. A longer page is a problem, and is not
 * loaded.
 */
export const maxBodyBytes = 9_500_000;

/** What was given as a source is none. The message says what to do. */
export class SourceError extends Error {
  readonly path: string;

  constructor(path: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "SourceError";
    this.path = path;
  }
}
