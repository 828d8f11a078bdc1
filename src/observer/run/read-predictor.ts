import { byteString, isRemote } from "../../store/index.js";
import {
  type CellAddress,
  type ReadHow,
  type ReadPredictor,
  rowKey,
  type TransactionContext,
} from "../../transaction/index.js";

/**
 * Maximum number of columns to prefetch with the first read of a row, and their maximum expected
 * size in bytes.
 */
const maxColumns = 16;
const maxBytes = 256 * 1024;
/** A column is predicted if recent runs read it in at least this share of the rows of one kind. */
const minShare = 0.5;
/**
 * The weight of a row relative to the next one. A column is no longer predicted after runs have not
 * read it in four consecutive rows.
 */
const fading = 0.8;
/** The most columns, per table, for which to count how often they are read. */
const maxKnown = 64;
const maxTables = 64;
/** The most rows of one run to learn from. */
const maxRows = 256;
const nothing: readonly never[] = Object.freeze([]);

/** A column that is read together with others of its row. */
interface Habit {
  readonly column: Uint8Array;
  /** How often it was read. Newer rows count more. */
  times: number;
  /** Size of its cell in bytes, smoothed. */
  bytes: number;
}

/**
 * The reads that runs of one observer make in one kind of rows: the observed row, or other rows of
 * one table.
 */
class Habits {
  /** How many rows of this kind the runs read. Newer rows count more. */
  #rows = 0;
  readonly #columns = new Map<string, Habit>();
  #expected: readonly Uint8Array[] | undefined;

  /**
   * The columns that a run is likely to read from a row of this kind after its first read. If not
   * all of them fit, these are the likeliest, and of equally likely ones the smallest.
   */
  get expected(): readonly Uint8Array[] {
    this.#expected ??= this.#choose();
    return this.#expected;
  }

  #choose(): readonly Uint8Array[] {
    const likely = [...this.#columns.values()].filter(({ times }) => times >= minShare * this.#rows);
    likely.sort((a, b) => b.times - a.times || a.bytes - b.bytes);
    let bytes = 0;
    const chosen: Uint8Array[] = [];
    for (const habit of likely) {
      if (chosen.length === maxColumns) break;
      if (bytes + habit.bytes > maxBytes) continue;
      bytes += habit.bytes;
      chosen.push(habit.column);
    }
    return chosen;
  }

  /** Learns that a run read these columns of one row of this kind. */
  learn(read: ReadonlyMap<string, SeenColumn>): void {
    if (read.size === 0 && this.#columns.size === 0) return;
    this.#expected = undefined;
    this.#rows = this.#rows * fading + 1;
    for (const [key, habit] of this.#columns) {
      habit.times *= fading;
      if (habit.times < 0.05) this.#columns.delete(key);
    }
    for (const [key, { column, bytes }] of read) {
      const known = this.#columns.get(key);
      if (known !== undefined) {
        known.times++;
        known.bytes += (bytes - known.bytes) * (1 - fading);
      } else if (this.#columns.size < maxKnown) {
        this.#columns.set(key, { column: Buffer.from(column), times: 1, bytes });
      }
    }
  }
}

interface SeenColumn {
  readonly column: Uint8Array;
  readonly bytes: number;
}

/** A row that a run has read. */
interface SeenRow {
  readonly habits: Habits;
  readonly isOwn: boolean;
  /** Columns that the first request for the row read. */
  readonly first: Map<string, SeenColumn>;
  /** Columns that the run read after it. */
  readonly later: Map<string, SeenColumn>;
  /** Prefetched columns that the run has not read so far. */
  readonly unread: Set<string>;
}

/** What the runs of one observer in this process have read. Each run adds its reads at its end. */
class ObserverHabits {
  readonly own = new Habits();
  readonly #others = new Map<string, Habits>();

  /** Undefined if the observer reads so many tables that this one is not tracked. */
  ofTable(table: string): Habits | undefined {
    let habits = this.#others.get(table);
    if (habits === undefined && this.#others.size < maxTables) {
      habits = new Habits();
      this.#others.set(table, habits);
    }
    return habits;
  }
}

/** The result of prefetching in one run, in cells. */
export interface PrefetchCounts {
  /** Cells that were read and had been prefetched. */
  hits: number;
  /** Cells that needed another request, although their row had been read before. */
  misses: number;
  /** Cells that were prefetched and never read. */
  wasted: number;
}

/**
 * The predictor of one run. It knows what earlier runs of its observer read, and watches what this
 * run reads.
 */
export class RunReadPredictor implements ReadPredictor {
  readonly #observer: ObserverHabits;
  readonly #ownKey: string;
  readonly #rows = new Map<string, SeenRow>();
  readonly #counts: PrefetchCounts = { hits: 0, misses: 0, wasted: 0 };

  constructor(observer: ObserverHabits, cell: CellAddress) {
    this.#observer = observer;
    this.#ownKey = rowKey(cell.table, cell.row);
  }

  expected(table: string, row: Uint8Array): readonly Uint8Array[] {
    if (this.#rows.size >= maxRows) return nothing;
    const key = rowKey(table, row);
    const isOwn = key === this.#ownKey;
    const habits = isOwn ? this.#observer.own : this.#observer.ofTable(table);
    if (habits === undefined) return nothing;
    this.#rows.set(key, { habits, isOwn, first: new Map(), later: new Map(), unread: new Set() });
    return habits.expected;
  }

  read(table: string, row: Uint8Array, column: Uint8Array, how: ReadHow, bytes: number): void {
    const seen = this.#rows.get(rowKey(table, row));
    if (seen === undefined) return;
    const name = byteString(column);
    if (how === "asked") this.#counts.misses++;
    if (how === "atHand") {
      this.#counts.hits++;
      seen.unread.delete(name);
    }
    (how === "first" ? seen.first : seen.later).set(name, { column, bytes });
  }

  fetched(table: string, row: Uint8Array, column: Uint8Array): void {
    this.#rows.get(rowKey(table, row))?.unread.add(byteString(column));
  }

  /**
   * Ends the run, and returns its counts. `isWhole`: whether the run was complete, so that later
   * runs can learn from it.
   */
  end(isWhole: boolean): PrefetchCounts {
    for (const { habits, isOwn, first, later, unread } of this.#rows.values()) {
      this.#counts.wasted += unread.size;
      if (!isWhole) continue;
      // The first request for the observed row always reads the same columns, so only later reads
      // are worth learning. The first request for another row may be for any of the columns that
      // are read together.
      habits.learn(isOwn || later.size === 0 ? later : new Map([...first, ...later]));
    }
    this.#rows.clear();
    return this.#counts;
  }
}

const known = new WeakMap<TransactionContext, Map<string, ObserverHabits>>();

/**
 * The predictor of a run of an observer on a cell, based on earlier runs in this process. Undefined
 * if the store is in this process, since prefetching gains nothing there.
 */
export function readPredictorOf(
  context: TransactionContext,
  observer: string,
  cell: CellAddress,
): RunReadPredictor | undefined {
  if (!isRemote(context.store)) return undefined;
  let observers = known.get(context);
  if (observers === undefined) {
    observers = new Map();
    known.set(context, observers);
  }
  let habits = observers.get(observer);
  if (habits === undefined) {
    habits = new ObserverHabits();
    observers.set(observer, habits);
  }
  return new RunReadPredictor(habits, cell);
}
