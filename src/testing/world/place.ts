import { byteString } from "../../store/index.js";

/** What a request reads or changes: a range of rows of a table, as strings of their bytes. */
export interface Place {
  readonly table: string;
  /** First row, inclusive. */
  readonly from: string;
  /** End of the range, exclusive. Undefined for no end. */
  readonly to: string | undefined;
}

/** Returns the place of one row. */
export function rowPlace(table: string, row: Uint8Array): Place {
  const from = byteString(row);
  return { table, from, to: `${from}\0` };
}

/** Returns the place of a range of rows. */
export function rangePlace(table: string, start: Uint8Array | undefined, end: Uint8Array | undefined): Place {
  return {
    table,
    from: start === undefined ? "" : byteString(start),
    to: end === undefined ? undefined : byteString(end),
  };
}

/** Returns the place of something shared that is not a row, such as a counter or an oracle. */
export function namedPlace(name: string): Place {
  return { table: `(${name})`, from: "", to: undefined };
}

/** Whether two places overlap. */
export function overlap(a: Place, b: Place): boolean {
  if (a.table !== b.table) return false;
  if (a.to !== undefined && b.from >= a.to) return false;
  return b.to === undefined || a.from < b.to;
}
