import { byteString, successor } from "../../bytes.js";
import type { Part } from "../../cell.js";
import { parts } from "../../cell.js";
import {
  commitTimestamp,
  type DeleteMutation,
  type Guard,
  type PutMutation,
  type RangeGuard,
} from "../../mutation.js";
import { afterAllKeys } from "../read/column-choice.js";
import { ArrayBuilder } from "../wire/array-builder.js";
import { int8Text } from "../wire/arrays.js";

const noBytes = new Uint8Array(0);
const numberOf = Object.fromEntries(parts.map((part, index) => [part, index])) as Record<Part, number>;

const int4 = () => new ArrayBuilder("int4");
const int8 = () => new ArrayBuilder("int8");
const bytea = () => new ArrayBuilder("bytea");

/** The place of a cell's part in a table. */
class Places {
  readonly tables = int4();
  readonly rows = bytea();
  readonly columns = bytea();
  readonly parts = int4();

  push(table: number, row: Uint8Array, column: Uint8Array, part: Part): void {
    this.tables.int4(table);
    this.rows.bytes(row);
    this.columns.bytes(column);
    this.parts.int4(numberOf[part]);
  }
}

/** The timestamps from `from` (inclusive) to `to` (exclusive). */
class Intervals {
  readonly from = int8();
  readonly to = int8();

  push(from: number, to: number): void {
    this.from.int8(from);
    this.to.int8(to);
  }
}

/** A cell that must have no lock, and no write record at `since` or later. */
export interface UnchangedCell {
  readonly position: number;
  readonly table: number;
  readonly row: Uint8Array;
  readonly column: Uint8Array;
  readonly since: number;
}

/** What the server checks and does in one wave, as the arrays that it gets. */
export class Wave {
  readonly #cellRequests = int4();
  readonly #cellPositions = int4();
  readonly #cellTables = int4();
  readonly #cellRows = bytea();
  readonly #cellColumns = bytea();
  readonly #cellSince = int8();
  readonly #cellValues = bytea();
  #newestSince = 0;
  readonly #guards = new Places();
  readonly #guardIntervals = new Intervals();
  readonly #present = int4();
  readonly #equals = bytea();
  readonly #below = bytea();
  /** The indexes of guards on few rows that many transactions share. */
  readonly #shared = new Map<string, number>();
  readonly #useGuards: number[] = [];
  readonly #useRequests = int4();
  readonly #usePositions = int4();
  readonly #rangeRequests = int4();
  readonly #rangePositions = int4();
  readonly #rangeTables = int4();
  readonly #rangeStarts = bytea();
  readonly #rangeEnds = bytea();
  readonly #rangeColumnStarts = bytea();
  readonly #rangeColumnEnds = bytea();
  readonly #rangeParts = int4();
  readonly #rangeIntervals = new Intervals();
  readonly #deleteRequests = int4();
  readonly #deletes = new Places();
  readonly #deleteIntervals = new Intervals();
  readonly #putRequests = int4();
  readonly #puts = new Places();
  readonly #putTimestamps = int8();
  readonly #putValues = bytea();

  /**
   * Adds the two guards of a cell that must have no lock, and no write record at `since` or later, and
   * the write record that the cell gets at the commit timestamp, if there is one. `position` is the
   * index of the lock's guard among the request's guards. That of the write record is the next.
   */
  unchanged(
    request: number,
    { position, table, row, column, since }: UnchangedCell,
    value?: Uint8Array,
  ): void {
    this.#cellRequests.int4(request);
    this.#cellPositions.int4(position);
    this.#cellTables.int4(table);
    this.#cellRows.bytes(row);
    this.#cellColumns.bytes(column);
    this.#cellSince.int8(since);
    this.#cellValues.bytes(value);
    this.#newestSince = Math.max(this.#newestSince, since);
  }

  /**
   * Adds a guard of a request. `position` is its index among the request's guards. A guard with a
   * `cell`, the name of its cell, is added once for all requests that have the same.
   */
  guard(
    request: number,
    position: number,
    table: number,
    row: Uint8Array,
    guard: Guard,
    cell?: string,
  ): void {
    this.#useRequests.int4(request);
    this.#usePositions.int4(position);
    const shared = cell === undefined ? undefined : guardName(cell, guard);
    const known = shared === undefined ? undefined : this.#shared.get(shared);
    if (known !== undefined) {
      this.#useGuards.push(known);
      return;
    }
    const index = this.#present.count;
    this.#useGuards.push(index);
    if (shared !== undefined) this.#shared.set(shared, index);
    this.#guards.push(table, row, guard.column, guard.part);
    if (guard.type === "absent") {
      this.#guardIntervals.push(guard.from, guard.to);
      this.#present.int4(0);
      this.#equals.bytes(undefined);
      this.#below.bytes(undefined);
      return;
    }
    // No version has the commit timestamp yet, so the guard looks at an empty interval.
    if (guard.at === commitTimestamp) this.#guardIntervals.push(0, 0);
    else this.#guardIntervals.push(guard.at, guard.at + 1);
    this.#present.int4(1);
    this.#equals.bytes(guard.equals);
    this.#below.bytes(guard.below);
  }

  /** Adds a range guard. `position` is negative: -1 for the first range guard of the request. */
  range(request: number, position: number, table: number, range: RangeGuard): void {
    for (const column of range.columns) {
      const isExact = "exact" in column;
      for (const { part, from, to } of range.absent) {
        this.#rangeRequests.int4(request);
        this.#rangePositions.int4(position);
        this.#rangeTables.int4(table);
        this.#rangeStarts.bytes(range.start ?? noBytes);
        this.#rangeEnds.bytes(range.end ?? afterAllKeys);
        this.#rangeColumnStarts.bytes(isExact ? column.exact : column.start);
        this.#rangeColumnEnds.bytes(isExact ? successor(column.exact) : (column.end ?? afterAllKeys));
        this.#rangeParts.int4(numberOf[part]);
        this.#rangeIntervals.push(from, to);
      }
    }
  }

  delete(request: number, table: number, row: Uint8Array, { column, part, from, to }: DeleteMutation): void {
    this.#deleteRequests.int4(request);
    this.#deletes.push(table, row, column, part);
    this.#deleteIntervals.push(from, to);
  }

  put(request: number, table: number, row: Uint8Array, put: PutMutation): void {
    this.#putRequests.int4(request);
    this.#puts.push(table, row, put.column, put.part);
    this.#putTimestamps.int8(put.timestamp);
    this.#putValues.bytes(put.value);
  }

  /** The parameters of `commit_group` from the unchanged cells to the puts, and after them where each wave ends. */
  static parameters(waves: readonly Wave[]): unknown[] {
    const join = (of: (wave: Wave) => ArrayBuilder) => ArrayBuilder.join(waves.map(of));
    const places = (of: (wave: Wave) => Places) => [
      join((wave) => of(wave).tables),
      join((wave) => of(wave).rows),
      join((wave) => of(wave).columns),
      join((wave) => of(wave).parts),
    ];
    const intervals = (of: (wave: Wave) => Intervals) => [
      join((wave) => of(wave).from),
      join((wave) => of(wave).to),
    ];
    return [
      join((wave) => wave.#cellRequests),
      join((wave) => wave.#cellPositions),
      join((wave) => wave.#cellTables),
      join((wave) => wave.#cellRows),
      join((wave) => wave.#cellColumns),
      join((wave) => wave.#cellSince),
      join((wave) => wave.#cellValues),
      int8Text(Math.max(...waves.map((wave) => wave.#newestSince))),
      ...places((wave) => wave.#guards),
      ...intervals((wave) => wave.#guardIntervals),
      join((wave) => wave.#present),
      join((wave) => wave.#equals),
      join((wave) => wave.#below),
      Wave.#guardNumbers(waves),
      join((wave) => wave.#useRequests),
      join((wave) => wave.#usePositions),
      join((wave) => wave.#rangeRequests),
      join((wave) => wave.#rangePositions),
      join((wave) => wave.#rangeTables),
      join((wave) => wave.#rangeStarts),
      join((wave) => wave.#rangeEnds),
      join((wave) => wave.#rangeColumnStarts),
      join((wave) => wave.#rangeColumnEnds),
      join((wave) => wave.#rangeParts),
      ...intervals((wave) => wave.#rangeIntervals),
      join((wave) => wave.#deleteRequests),
      ...places((wave) => wave.#deletes),
      ...intervals((wave) => wave.#deleteIntervals),
      join((wave) => wave.#putRequests),
      ...places((wave) => wave.#puts),
      join((wave) => wave.#putTimestamps),
      join((wave) => wave.#putValues),
      waves.length,
      Wave.#ends(waves),
    ];
  }

  /** The index among the guards of all waves, from 1, for each use of a guard. */
  static #guardNumbers(waves: readonly Wave[]): Buffer {
    const numbers = int4();
    let before = 1;
    for (const wave of waves) {
      for (const guard of wave.#useGuards) numbers.int4(guard + before);
      before += wave.#present.count;
    }
    return ArrayBuilder.join([numbers]);
  }

  /** Where the unchanged cells, guards, uses, ranges, deletes and puts of each wave end. */
  static #ends(waves: readonly Wave[]): Buffer {
    const ends = int4();
    const sums = [0, 0, 0, 0, 0, 0];
    for (const wave of waves) {
      const lists = [
        wave.#cellRequests,
        wave.#present,
        wave.#useRequests,
        wave.#rangeRequests,
        wave.#deleteRequests,
        wave.#putRequests,
      ];
      for (const [index, { count }] of lists.entries()) {
        sums[index]! += count;
        ends.int4(sums[index]!);
      }
    }
    return ArrayBuilder.join([ends]);
  }
}

function guardName(cell: string, guard: Guard): string {
  if (guard.type === "absent") return `${guard.part} ${guard.from} ${guard.to} ${cell}`;
  const value = (bytes: Uint8Array | undefined) =>
    bytes === undefined ? "-" : `${bytes.length}:${byteString(bytes)}`;
  return `${guard.part} at ${guard.at} ${value(guard.equals)}${value(guard.below)} ${cell}`;
}
