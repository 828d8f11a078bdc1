import { type Environment, throwIfAborted, WorkSlices } from "../../environment/index.js";
import {
  allColumns,
  type Part,
  type PartVersion,
  type Position,
  pages,
  type RowStore,
  type Version,
} from "../../store/index.js";
import type { CellAddress } from "./address.js";

/** A cell with the versions that the walk selected. */
export interface WalkedCell extends CellAddress {
  readonly versions: readonly PartVersion[];
}

/** What {@link walkCells} reads: a range of rows, and the parts and versions of each cell. */
export interface WalkOptions {
  readonly parts: readonly Part[];
  readonly skip?: ((write: Version) => boolean) | undefined;
  /** Only versions at or above this timestamp. Default: all. */
  readonly from?: number | undefined;
  /** Only versions below this timestamp. Default: all. */
  readonly to?: number | undefined;
  /** The maximum number of versions per part of a cell, see `RawRead.versions`. Default: all. */
  readonly versions?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly start?: Uint8Array | undefined;
  readonly end?: Uint8Array | undefined;
  /** Shared with other steps of the same work. Default: its own. */
  readonly slices?: WorkSlices | undefined;
}

/** Rows per page. One request reads a page, and other work waits while this process handles it. */
const walkPage = 256;

/**
 * Yields every cell of a table in key order, one page at a time. Gives other work turns between
 * pages. Collection, checks and inspection walk with it.
 */
export async function* walkCells(
  store: RowStore,
  environment: Environment,
  table: string,
  options: WalkOptions,
): AsyncGenerator<readonly WalkedCell[]> {
  const { parts, skip, from, to, versions, signal, slices = new WorkSlices(environment) } = options;
  const end = options.end === undefined ? undefined : { row: options.end };
  const read = (start?: Position) => {
    throwIfAborted(signal, `Walking through "${table}"`);
    return store.readRaw(
      { table, start, end, columns: allColumns, parts, skip, from, to, versions, limit: walkPage },
      { signal },
    );
  };
  const first = options.start === undefined ? undefined : { row: options.start };
  for await (const page of pages(read, first)) {
    yield page.rows.flatMap(({ row, cells }) =>
      cells.map(({ column, versions }) => ({ table, row, column, versions })),
    );
    await slices.next();
  }
}

/** The versions of one part, newest first. */
export function ofPart(versions: readonly PartVersion[], part: Part): readonly PartVersion[] {
  return versions.filter((version) => version.part === part);
}
