const mebibyte = 1024 * 1024;

/**
 * The largest row that a worker reads, in bytes of its JSON. JavaScript has no string of 512 MiB, and the
 * client library that meets one throws outside of every promise, so that the process ends.
 */
export const maxRowBytes = 256 * mebibyte;

/** Why a table is parked that has a row beyond {@link maxRowBytes}. `max` is the limit. */
export function largeRowReason(sql: string, bytes: number, max: number): string {
  return (
    `A row of ${sql} has ${Math.round(bytes / mebibyte)} MiB of JSON, with the columns that are not followed. ` +
    `A worker reads at most ${max / mebibyte} MiB. Make its values smaller, or move the large column to another table.`
  );
}
