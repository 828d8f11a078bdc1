import { LimitExceededError } from "../../errors/index.js";
import type { Columns } from "../../store/index.js";
import { addressKey, after, type CellAddress, userColumns } from "../../transaction/index.js";

/** Columns of one row that a query has read. */
export interface RowRead {
  readonly table: string;
  readonly row: Uint8Array;
  readonly columns: Columns;
}

/** Columns of a range of rows that a query has read. */
export interface RangeRead {
  readonly table: string;
  /** Inclusive. Undefined for the first row. */
  readonly start: Uint8Array | undefined;
  /** Exclusive. Undefined for the end of the table. */
  readonly end: Uint8Array | undefined;
  readonly columns: Columns;
}

export type ReadPart = RowRead | RangeRead;

/** A scan in progress. It has read up to the last item that its caller took. */
export interface ReadProgress {
  /**
   * The caller took an item. `place` returns its row, or the column of a family's cell. It is
   * called only for the last item.
   */
  take(place: () => Uint8Array, cells: number): void;
  /** The caller has seen that nothing is left, or an error instead of the rest. */
  end(): void;
}

/** More cells would make each run of the query too expensive. */
const maxCells = 100_000;

/** What one run of a live query has read, absent cells included. */
export class QueryReads {
  readonly #rows = new Map<string, RowRead>();
  readonly #scans: (() => ReadPart | undefined)[] = [];
  readonly #tables = new Set<string>();
  #cells = 0;

  /** The tables of which something was read. */
  get tables(): ReadonlySet<string> {
    return this.#tables;
  }

  get cells(): number {
    return this.#cells;
  }

  cell(address: CellAddress): void {
    const { table, row, column } = address;
    this.#tables.add(table);
    this.#rows.set(addressKey(address), { table, row, columns: [{ exact: column }] });
    this.count(1);
  }

  row(table: string, row: Uint8Array): void {
    this.#tables.add(table);
    this.#scans.push(() => ({ table, row, columns: userColumns }));
    this.count(1);
  }

  /** A scan of the cells of a family in one row: from `start`, inclusive, to `end`, exclusive. */
  entries(table: string, row: Uint8Array, start: Uint8Array, end: Uint8Array): ReadProgress {
    return this.#scan(table, (last) => {
      return { table, row, columns: [{ start, end: last === undefined ? end : after(last) }] };
    });
  }

  /** A scan of the rows of a range. */
  rows(range: RangeRead, isReverse: boolean): ReadProgress {
    return this.#scan(range.table, (last) => {
      if (last === undefined) return range;
      return isReverse ? { ...range, start: last } : { ...range, end: after(last) };
    });
  }

  /** `part`: what was read up to an item, or everything if there is none. */
  #scan(table: string, part: (last: Uint8Array | undefined) => ReadPart): ReadProgress {
    this.#tables.add(table);
    let last: (() => Uint8Array) | undefined;
    let isWhole = false;
    this.#scans.push(() => {
      if (isWhole) return part(undefined);
      return last === undefined ? undefined : part(last());
    });
    return {
      take: (place, cells) => {
        last = place;
        this.count(cells);
      },
      end: () => {
        isWhole = true;
      },
    };
  }

  /** Counts cells that were read. Throws if the run has read too many. */
  count(cells: number): void {
    this.#cells += cells;
    this.assertBounded();
  }

  /** Throws if the run has read too many cells. */
  assertBounded(): void {
    if (this.#cells <= maxCells) return;
    throw new LimitExceededError(
      `A live query has read more than ${maxCells} cells in one run. Read fewer: keep a sum or a list up to date ` +
        "with an observer or a recipe, and read that, or follow a feed with `db.changes`.",
    );
  }

  /** Everything that was read so far. */
  parts(): readonly ReadPart[] {
    const scans = this.#scans.map((part) => part()).filter((part) => part !== undefined);
    return [...this.#rows.values(), ...scans];
  }
}
