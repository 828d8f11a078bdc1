import { byteString, isRemote } from "../../store/index.js";
import {
  type CellAddress,
  type ReadHow,
  type ReadPredictor,
  rowKey,
  type TransactionContext,
} from "../../transaction/index.js";

/**
 * Columns fetched ahead with the first read of a row, and the bytes that they are expected to have.
 */
const maxColumns = 16;
const maxBytes = 256 * 1024;
/** A column is expected where it was read of at least this share of such rows, of late. */
const minShare = 0.5;
/**
 * What a row counts less than the one after it: a column that is not read of four in a row is no
 * longer expected.
 */
const fading = 0.8;
/** Columns of which is known how often they are read, of the rows of one table. */
const maxKnown = 64;
const maxTables = 64;
/** Rows of one run that are learned from. */
const maxRows = 256;
const nothing: readonly never[] = Object.freeze([]);

/** A column that is read with others of its row. */
interface Habit {
  readonly column: Uint8Array;
  /** How often, of late: the newest rows count most. */
  times: number;
  /** Bytes of its cell, smoothed. */
  bytes: number;
}

/**
 * What runs of one observer read of rows of one kind: the observed row, or the others of one table.
 */
class Habits {
  /** Rows that runs came to, of late. */
  #rows = 0;
  readonly #columns = new Map<string, Habit>();
  #expected: readonly Uint8Array[] | undefined;

  /**
   * What is likely to be read of such a row after its first read; the likeliest and smallest where
   * not all of it fits.
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

  /** A run came to such a row, and read these columns together. */
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
  /** Columns read by the first request for the row. */
  readonly first: Map<string, SeenColumn>;
  /** Columns read after it. */
  readonly later: Map<string, SeenColumn>;
  /** Columns that came with it and were not read, so far. */
  readonly unread: Set<string>;
}

/** What the runs of one observer in this process have read before, learned as they go. */
class ObserverHabits {
  readonly own = new Habits();
  readonly #others = new Map<string, Habits>();

  /** Undefined where it reads so many tables that this one is left out. */
  ofTable(table: string): Habits | undefined {
    let habits = this.#others.get(table);
    if (habits === undefined && this.#others.size < maxTables) {
      habits = new Habits();
      this.#others.set(table, habits);
    }
    return habits;
  }
}

/** What fetching ahead came to in one run, in cells. */
export interface PrefetchCounts {
  /** Read, and at hand. */
  hits: number;
  /** Read by a request of its own, of a row that had been read before. */
  misses: number;
  /** Fetched and never read. */
  wasted: number;
}

/**
 * The predictor of one run: knows what earlier runs of its observer read, and watches what this one
 * does.
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
   * What it came to. `isWhole`: the run was, so that what the next ones will read can be learned
   * from it.
   */
  end(isWhole: boolean): PrefetchCounts {
    for (const { habits, isOwn, first, later, unread } of this.#rows.values()) {
      this.#counts.wasted += unread.size;
      if (!isWhole) continue;
      // Of the own row the first request is always for the same. Of others it may be for any of
      // those that are read together.
      habits.learn(isOwn || later.size === 0 ? later : new Map([...first, ...later]));
    }
    this.#rows.clear();
    return this.#counts;
  }
}

const known = new WeakMap<TransactionContext, Map<string, ObserverHabits>>();

/**
 * The predictor of a run of an observer on a cell, by what its runs in this process have read.
 * Undefined where the store is in this process: reading costs nothing there.
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
