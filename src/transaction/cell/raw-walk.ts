import { type Environment, throwIfAborted } from "../../environment/index.js";
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

/** One cell with all that stands beneath it. */
export interface WalkedCell extends CellAddress {
  readonly versions: readonly PartVersion[];
}

export interface WalkOptions {
  readonly parts: readonly Part[];
  readonly skip?: ((write: Version) => boolean) | undefined;
  /** Versions below it only. Default: all. */
  readonly to?: number | undefined;
  /** The most of each part of a cell, see `RawRead.versions`. Default: all. */
  readonly versions?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly start?: Uint8Array | undefined;
  readonly end?: Uint8Array | undefined;
}

/** Rows of a page: what is asked of the store at once, and how long others wait. */
const walkPage = 256;

/** Every cell of a table, in order, a page at a time; lets others work between pages. */
export async function* walkCells(
  store: RowStore,
  environment: Environment,
  table: string,
  options: WalkOptions,
): AsyncGenerator<readonly WalkedCell[]> {
  const { parts, skip, to, versions, signal } = options;
  const end = options.end === undefined ? undefined : { row: options.end };
  const read = (start?: Position) => {
    throwIfAborted(signal, `Walking through "${table}"`);
    return store.readRaw(
      { table, start, end, columns: allColumns, parts, skip, to, versions, limit: walkPage },
      { signal },
    );
  };
  const first = options.start === undefined ? undefined : { row: options.start };
  for await (const page of pages(read, first)) {
    yield page.rows.flatMap(({ row, cells }) =>
      cells.map(({ column, versions }) => ({ table, row, column, versions })),
    );
    await new Promise<void>((resolve) => environment.defer(resolve));
  }
}

/** The versions of one part, newest first. */
export function ofPart(versions: readonly PartVersion[], part: Part): readonly PartVersion[] {
  return versions.filter((version) => version.part === part);
}
