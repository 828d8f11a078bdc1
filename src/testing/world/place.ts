import { byteString } from "../../store/index.js";

/** What a request reads or changes: the rows of a table from one to another, as strings of their bytes. */
export interface Place {
  readonly table: string;
  /** First row. */
  readonly from: string;
  /** Row after the last; undefined: no end. */
  readonly to: string | undefined;
}

/** The place of one row. */
export function rowPlace(table: string, row: Uint8Array): Place {
  const from = byteString(row);
  return { table, from, to: `${from}\0` };
}

/** The place of a range of rows. */
export function rangePlace(table: string, start: Uint8Array | undefined, end: Uint8Array | undefined): Place {
  return {
    table,
    from: start === undefined ? "" : byteString(start),
    to: end === undefined ? undefined : byteString(end),
  };
}

/** Something shared that is not a row: a counter, an oracle. */
export function namedPlace(name: string): Place {
  return { table: `(${name})`, from: "", to: undefined };
}

/** Whether two places have something in common. */
export function overlap(a: Place, b: Place): boolean {
  if (a.table !== b.table) return false;
  if (a.to !== undefined && b.from >= a.to) return false;
  return b.to === undefined || a.from < b.to;
}
