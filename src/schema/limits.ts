/** Limits that are the same on every store, so that a program can move between stores unchanged. */
export const limits = Object.freeze({
  /** Bytes of an encoded row key and qualifier together; each NUL byte counts twice. */
  keyBytes: 1_500,
  /** Bytes of an encoded value. */
  valueBytes: 10_000_000,
  /** Characters of a table's, column's or observer's name. */
  nameLength: 64,
});
