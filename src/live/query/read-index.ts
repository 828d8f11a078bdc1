import { byteString } from "../../store/index.js";
import { isSelected } from "../../transaction/index.js";
import { type Interval, IntervalTree } from "./interval-tree.js";
import type { RangeRead, ReadPart, RowRead } from "./query-reads.js";

/** A cell that a transaction changed. */
export interface ChangedCell {
  readonly commitTimestamp: number;
  readonly table: string;
  readonly row: Uint8Array;
  readonly column: Uint8Array;
}

interface Point<Q> extends RowRead {
  readonly owner: Q;
  readonly key: string;
}

interface Range<Q> extends Omit<RangeRead, "start">, Interval {
  readonly owner: Q;
}

/** What was read of one table, by row and by range. */
class TableIndex<Q> {
  readonly points = new Map<string, Set<Point<Q>>>();
  readonly ranges = new IntervalTree<Range<Q>>();

  get isEmpty(): boolean {
    return this.points.size === 0 && this.ranges.size === 0;
  }
}

const noBytes = new Uint8Array(0);

/**
 * Finds those whose reads a change affects, without looking at all reads one by one. `Q` is the
 * type of the owner of reads: a live query.
 */
export class ReadIndex<Q> {
  readonly #tables = new Map<string, TableIndex<Q>>();
  readonly #ofOwners = new Map<Q, readonly (Point<Q> | Range<Q>)[]>();

  /** The number of owners with reads. */
  get size(): number {
    return this.#ofOwners.size;
  }

  get isEmpty(): boolean {
    return this.#tables.size === 0 && this.#ofOwners.size === 0;
  }

  /** Adds the reads of an owner. They replace earlier ones. */
  add(owner: Q, reads: readonly ReadPart[]): void {
    this.remove(owner);
    const added = reads.map((read) => {
      const table = this.#table(read.table);
      if ("row" in read) {
        const point: Point<Q> = { ...read, owner, key: byteString(read.row) };
        const known = table.points.get(point.key);
        if (known === undefined) table.points.set(point.key, new Set([point]));
        else known.add(point);
        return point;
      }
      const range: Range<Q> = { ...read, owner, start: read.start ?? noBytes };
      table.ranges.add(range);
      return range;
    });
    this.#ofOwners.set(owner, added);
  }

  remove(owner: Q): void {
    const reads = this.#ofOwners.get(owner);
    if (reads === undefined) return;
    this.#ofOwners.delete(owner);
    for (const read of reads) {
      const table = this.#tables.get(read.table)!;
      if ("key" in read) {
        const points = table.points.get(read.key)!;
        points.delete(read);
        if (points.size === 0) table.points.delete(read.key);
      } else table.ranges.remove(read);
      if (table.isEmpty) this.#tables.delete(read.table);
    }
  }

  /** Adds to `owners` those that read the cell. */
  affected({ table, row, column }: ChangedCell, owners: Set<Q>): void {
    const found = this.#tables.get(table);
    if (found === undefined) return;
    const add = (read: Point<Q> | Range<Q>) => {
      if (isSelected(read.columns, column)) owners.add(read.owner);
    };
    if (found.points.size > 0) found.points.get(byteString(row))?.forEach(add);
    if (found.ranges.size > 0) found.ranges.containing(row, add);
  }

  #table(name: string): TableIndex<Q> {
    let table = this.#tables.get(name);
    if (table === undefined) {
      table = new TableIndex();
      this.#tables.set(name, table);
    }
    return table;
  }
}
