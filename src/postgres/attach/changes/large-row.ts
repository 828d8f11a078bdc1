const mebibyte = 1024 * 1024;

/**
 * The largest row that a worker reads, in bytes of its JSON. JavaScript has no string of 512 MiB, and the
 * client library that meets one throws outside of every promise, so that the process ends. Tests lower it.
 */
export const rowLimit = { maxBytes: 256 * mebibyte };

/** Why a table is parked that has a row beyond {@link rowLimit}. */
export function largeRowReason(sql: string, bytes: number): string {
  return (
    `A row of ${sql} has ${Math.round(bytes / mebibyte)} MiB of JSON, with the columns that are not followed. ` +
    `A worker reads at most ${rowLimit.maxBytes / mebibyte} MiB. Make its values smaller, or move the large column to another table.`
  );
}
