import type { CellView, Position } from "./cell.js";
import type { RangePage } from "./row-store.js";

/** The limits of one page. */
export interface PageLimits {
  readonly cells: number;
  readonly bytes: number;
  /**
   * The most cells that a page visits, shown or not. It bounds the time that a page with few
   * matches takes.
   */
  readonly scanned: number;
}

/** Gathers the cells that a scan of a range shows into the rows of one page. */
export class RangePageBuilder {
  readonly #limits: PageLimits;
  readonly #maxRows: number;
  readonly #rows: { readonly row: Uint8Array; readonly cells: CellView[] }[] = [];
  #cells = 0;
  #bytes = 0;

  /** `maxRows`: the caller's own limit, if it gave one. */
  constructor(limits: PageLimits, maxRows: number | undefined) {
    this.#limits = limits;
    this.#maxRows = maxRows ?? Number.POSITIVE_INFINITY;
  }

  /** Whether the page must end, after a scan of `scanned` cells. */
  isFull(scanned: number): boolean {
    const { cells, bytes, scanned: maxScanned } = this.#limits;
    return this.#cells >= cells || this.#bytes >= bytes || scanned > maxScanned;
  }

  /** Whether the page has as many rows as the caller wants. */
  get hasAllRows(): boolean {
    return this.#rows.length >= this.#maxRows;
  }

  /**
   * Begins a row. Each row has at least one cell, so begin a row only when its first cell is there.
   */
  begin(row: Uint8Array): void {
    this.#rows.push({ row, cells: [] });
  }

  /** Adds a cell to the row that was begun last. */
  add(view: CellView): void {
    this.#rows.at(-1)!.cells.push(view);
    this.#cells++;
    this.#bytes += viewBytes(view);
  }

  /** The page. The next one begins at `next`. */
  page(next?: Position): RangePage {
    return { rows: this.#rows, next };
  }

  /** The page of a descending scan, whose cells were added in descending order. */
  reversedPage(next?: Position): RangePage {
    for (const { cells } of this.#rows) cells.reverse();
    return this.page(next);
  }
}

/** The bytes that a cell counts for in a page. */
export function viewBytes({ column, lock, write, data }: CellView): number {
  let bytes = column.length + (lock?.value.length ?? 0) + (write?.value.length ?? 0);
  for (const version of data) bytes += version.value.length;
  return bytes;
}
