/** A record of a file of rows: a CSV record, or a line of JSON. */
export interface FileRecord {
  /** Number of the line on which it begins, from 1. */
  readonly line: number;
  /**
   * All bytes from the end of the record before it to its own end, with its line end. The bytes of
   * all records are the file, but for blank lines at the end.
   */
  readonly bytes: Buffer;
  /** The bytes of the record itself, without a byte order mark, blank lines before it, and its line end. */
  readonly content: Buffer;
  /** Why it is not a record of the format. */
  readonly problem?: string | undefined;
}

/** Says why no more of a file can be divided into records. */
export class RefusedFile extends Error {}

/** Divides a file into records. Throws a {@link RefusedFile} if it cannot. */
export interface RecordParser {
  /** The records that end in the next part of the file. */
  push(chunk: Buffer): Iterable<FileRecord>;
  /** The last record, if it has no line end. */
  end(): Iterable<FileRecord>;
  /** Number of the line that the next record begins on. */
  readonly line: number;
}

/**
 * Longest record, in bytes: several of the longest values. A longer one is probably a quote that is
 * not closed, and must not fill the memory.
 */
export const maxRecordBytes = 32 * 1024 * 1024;
