import { type CellView, type PartVersion, type Position, parts, type Version } from "../../cell.js";
import { bytesOf } from "../wire/arrays.js";
import type { Row } from "../wire/client.js";

/** The rows of an answer that belong to one cell: row, column, part, timestamp, value. */
export interface PageCell {
  /** As in the answer: `\x` and hexadecimal digits. */
  readonly row: string;
  readonly column: string;
  readonly versions: Row[];
}

/** Divides the rows of an answer, which are in the order of the keys, into cells. */
function cellsOf(rows: readonly Row[]): PageCell[] {
  const cells: PageCell[] = [];
  let last: PageCell | undefined;
  for (const each of rows) {
    const row = each[0]!;
    const column = each[1]!;
    if (last === undefined || last.column !== column || last.row !== row) {
      last = { row, column, versions: [] };
      cells.push(last);
    }
    last.versions.push(each);
  }
  return cells;
}

/** The cell as a read at `at` shows it. Undefined if it shows nothing. */
export function viewOf({ column, versions }: PageCell, at: number): CellView | undefined {
  let lock: Version | undefined;
  let write: Version | undefined;
  let latest = true;
  for (const [, , part, ts, value] of versions) {
    const timestamp = Number(ts);
    if (timestamp > at) latest = false;
    else if (part === "0") lock = { timestamp, value: bytesOf(value!) };
    else write = { timestamp, value: bytesOf(value!) };
  }
  if (lock === undefined && write === undefined) return undefined;
  return { column: bytesOf(column), lock, write, latest, data: [] };
}

/** The versions of a cell of a raw page. */
export function versionsOf({ versions }: PageCell): PartVersion[] {
  return versions.map(([, , part, ts, value]) => ({
    part: parts[Number(part)]!,
    timestamp: Number(ts),
    value: bytesOf(value!),
  }));
}

/** The cells of an answer, and the position of the next page if there is one. */
export interface CutCells {
  readonly cells: readonly PageCell[];
  readonly next: Position | undefined;
}

/** The cells of an answer. If its last cell has -1 for a part, that is where the next page begins. */
export function cutCells(answer: readonly Row[]): CutCells {
  const cells = cellsOf(answer);
  const last = cells.at(-1);
  if (last === undefined || last.versions[0]![2] !== "-1") return { cells, next: undefined };
  return { cells: cells.slice(0, -1), next: { row: bytesOf(last.row), column: bytesOf(last.column) } };
}
