import {
  type AtomicBatch,
  type ColumnRange,
  type Columns,
  commitTimestamp,
  type Guard,
  type Mutation,
  type Part,
  type Position,
  type RangeGuard,
  type RowMutation,
} from "../../store/index.js";
import { bytes, type PlainCell, type PlainRow, text } from "./harness.js";

interface StoredVersion {
  readonly table: string;
  readonly row: string;
  readonly column: string;
  readonly part: Part;
  readonly timestamp: number;
  readonly value: string;
}

const order: readonly Part[] = ["lock", "write", "data", "txn"];
const compare = (a: string, b: string) => Buffer.compare(bytes(a), bytes(b));

/**
 * A naive store that computes what each answer must be. It searches one list of versions from end
 * to end, without index, order or cache, so little in it can be wrong.
 */
export class ModelStore {
  #versions: StoredVersion[] = [];

  /** Performs the mutations if all guards hold. */
  mutate(mutation: RowMutation): "applied" | "rejected" {
    if (mutation.guards.some((guard) => !this.#holds(mutation, guard))) return "rejected";
    this.#change(mutation, 0);
    return "applied";
  }

  /** Returns the answer to a batch. `commit` is the commit timestamp if the batch is applied. */
  commit(batch: AtomicBatch, commit: number) {
    for (const [row, mutation] of batch.rows.entries()) {
      const guard = mutation.guards.findIndex((each) => !this.#holds(mutation, each));
      if (guard >= 0) return { answer: "rejected", row, guard } as const;
    }
    const range = (batch.ranges ?? []).findIndex((each) => !this.#rangeHolds(each));
    if (range >= 0) return { answer: "rejected", range } as const;
    for (const mutation of batch.rows) this.#change(mutation, commit);
    return { answer: "applied", timestamp: commit } as const;
  }

  row(table: string, row: string, columns: Columns, at: number): PlainCell[] {
    return this.#view(table, columns, at, (each) => each.row === row)[0]?.cells.slice() ?? [];
  }

  range(table: string, columns: Columns, at: number, start?: Position, end?: Position): PlainRow[] {
    return this.#view(table, columns, at, (each) => within(each, start, end));
  }

  /** Returns the raw versions in the form and order of the harness's `raw`, to compare the two. */
  raw(table: string, columns: Columns, parts: readonly Part[], from: number, to: number): string[] {
    return this.#versions
      .filter((each) => each.table === table && wanted(columns, each.column) && parts.includes(each.part))
      .filter((each) => each.timestamp >= from && each.timestamp < to)
      .sort(
        (a, b) =>
          compare(a.row, b.row) ||
          compare(a.column, b.column) ||
          order.indexOf(a.part) - order.indexOf(b.part) ||
          b.timestamp - a.timestamp,
      )
      .map((each) => `${each.row}/${each.column}/${each.part}@${each.timestamp}=${each.value}`);
  }

  #view(table: string, columns: Columns, at: number, shown: (version: StoredVersion) => boolean): PlainRow[] {
    const all = this.#versions.filter(
      (each) => each.table === table && wanted(columns, each.column) && shown(each),
    );
    const rows = [...new Set(all.map((each) => each.row))].sort(compare);
    return rows.flatMap((row) => {
      const inRow = all.filter((each) => each.row === row);
      const names = [...new Set(inRow.map((each) => each.column))].sort(compare);
      const cells = names.flatMap((column) => cellAt(column, at, inRow));
      return cells.length === 0 ? [] : [{ row, cells }];
    });
  }

  #holds({ table, row }: RowMutation, guard: Guard): boolean {
    const column = text(guard.column);
    const versions = this.#versions.filter(
      (each) =>
        each.table === table && each.row === text(row) && each.column === column && each.part === guard.part,
    );
    if (guard.type === "absent") {
      return !versions.some((each) => each.timestamp >= guard.from && each.timestamp < guard.to);
    }
    const version = versions.find((each) => each.timestamp === guard.at);
    if (version === undefined) return false;
    if (guard.equals !== undefined && version.value !== text(guard.equals)) return false;
    return guard.below === undefined || compare(version.value, text(guard.below)) < 0;
  }

  #rangeHolds(guard: RangeGuard): boolean {
    const start = guard.start === undefined ? undefined : { row: guard.start };
    const end = guard.end === undefined ? undefined : { row: guard.end };
    return !this.#versions.some(
      (each) =>
        each.table === guard.table &&
        within(each, start, end) &&
        wanted(guard.columns, each.column) &&
        guard.absent.some(
          ({ part, from, to }) => each.part === part && each.timestamp >= from && each.timestamp < to,
        ),
    );
  }

  #change({ table, row, mutations }: RowMutation, commit: number): void {
    for (const mutation of mutations) this.#changeOne(table, text(row), mutation, commit);
  }

  #changeOne(table: string, row: string, mutation: Mutation, commit: number): void {
    const column = text(mutation.column);
    const { part } = mutation;
    const same = (each: StoredVersion) =>
      each.table === table && each.row === row && each.column === column && each.part === part;
    if (mutation.type === "delete") {
      const { from, to } = mutation;
      this.#versions = this.#versions.filter(
        (each) => !(same(each) && each.timestamp >= from && each.timestamp < to),
      );
      return;
    }
    const timestamp = mutation.timestamp === commitTimestamp ? commit : mutation.timestamp;
    this.#versions = this.#versions.filter((each) => !(same(each) && each.timestamp === timestamp));
    this.#versions.push({ table, row, column, part, timestamp, value: text(mutation.value) });
  }
}

function cellAt(column: string, at: number, inRow: readonly StoredVersion[]): PlainCell[] {
  const of = (part: Part) => inRow.filter((each) => each.column === column && each.part === part);
  const newest = (part: Part) =>
    of(part)
      .filter((each) => each.timestamp <= at)
      .sort((a, b) => b.timestamp - a.timestamp)[0];
  const lock = newest("lock");
  const write = newest("write");
  if (lock === undefined && write === undefined) return [];
  return [
    {
      column,
      ...(lock === undefined ? {} : { lock: `${lock.timestamp}=${lock.value}` }),
      ...(write === undefined ? {} : { write: `${write.timestamp}=${write.value}` }),
      latest: !of("write").some((each) => each.timestamp > at),
    },
  ];
}

function wanted(columns: Columns, column: string): boolean {
  return columns.some((range: ColumnRange) => {
    if ("exact" in range) return text(range.exact) === column;
    if (compare(column, text(range.start)) < 0) return false;
    return range.end === undefined || compare(column, text(range.end)) < 0;
  });
}

/** Returns a negative number if the version's place comes before `position`. */
function comparePlace(version: StoredVersion, position: Position): number {
  const byRow = compare(version.row, text(position.row));
  if (byRow !== 0) return byRow;
  return compare(version.column, position.column === undefined ? "" : text(position.column));
}

function within(version: StoredVersion, start: Position | undefined, end: Position | undefined): boolean {
  if (start !== undefined && comparePlace(version, start) < 0) return false;
  return end === undefined || comparePlace(version, end) < 0;
}
