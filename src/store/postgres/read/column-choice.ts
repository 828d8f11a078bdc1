import type { Columns } from "../../cell.js";
import { wantsAll } from "../../columns.js";
import type { ColumnChoice } from "../table/page-functions.js";
import { byteaArray } from "../wire/arrays.js";

/** A byte string that sorts after every row and column, whose bytes are at most 1,800. */
export const afterAllKeys: Uint8Array = Buffer.alloc(2_000, 0xff);

/** Columns as the page functions take them. */
export interface ChosenColumns {
  readonly choice: ColumnChoice;
  /** The parameters `one`, `few`, `starts` and `ends`. */
  readonly values: readonly [Uint8Array | null, Buffer | null, Buffer | null, Buffer | null];
}

const all: ChosenColumns = { choice: "all", values: [null, null, null, null] };

export function chooseColumns(columns: Columns): ChosenColumns {
  if (wantsAll(columns)) return all;
  const first = columns[0]!;
  if (columns.length === 1 && "exact" in first) {
    return { choice: "one", values: [first.exact, null, null, null] };
  }
  const few: Uint8Array[] = [];
  const starts: Uint8Array[] = [];
  const ends: Uint8Array[] = [];
  for (const range of columns) {
    if ("exact" in range) few.push(range.exact);
    else {
      starts.push(range.start);
      ends.push(range.end ?? afterAllKeys);
    }
  }
  return { choice: "some", values: [null, byteaArray(few), byteaArray(starts), byteaArray(ends)] };
}
