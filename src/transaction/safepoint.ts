import { type ClockReading, type Environment, elapsedMs, longAgo, readClocks } from "../environment/index.js";
import { StaleSnapshotError } from "../errors/index.js";
import {
  isRemote,
  type MaybePromise,
  type RowMutation,
  type RowPage,
  type RowStore,
} from "../store/index.js";
import { encodeWrite } from "./cell/records.js";
import { safepointCell } from "./cell/system.js";

const safepointColumns = [{ exact: safepointCell.column }];
const readSafepoint = {
  table: safepointCell.table,
  row: safepointCell.row,
  columns: safepointColumns,
  at: Number.POSITIVE_INFINITY,
};

/**
 * The timestamp below which collection may have dropped versions (protocol §7.1). It only moves
 * forward. Collection publishes it, and readers check it after each read. On a store in this process,
 * each check reads it from the store. On a remote store each process caches it for `cacheMs`.
 * Collection therefore waits for twice `cacheMs` there before it drops anything.
 */
export class Safepoint {
  readonly #store: RowStore;
  readonly #environment: Environment;
  readonly cacheMs: number;
  #known = 0;
  #readAt = longAgo;
  /** A read under way, which other checks may share. */
  #asked: { readonly at: ClockReading; readonly answer: Promise<number> } | undefined;
  #guardStart = -1;
  #guard: RowMutation | undefined;

  constructor(store: RowStore, environment: Environment, cacheMs: number) {
    this.#store = store;
    this.#environment = environment;
    this.cacheMs = isRemote(store) ? cacheMs : 0;
  }

  /**
   * Throws a {@link StaleSnapshotError} if versions at `timestamp` may be dropped. Call it after
   * the read.
   */
  check(timestamp: number): MaybePromise<void> {
    if (this.cacheMs > 0 && this.#ageMs < this.cacheMs) return assertFresh(timestamp, this.#known);
    const current = this.#recent();
    if (current instanceof Promise) return current.then((safepoint) => assertFresh(timestamp, safepoint));
    return assertFresh(timestamp, current);
  }

  /** Like {@link check}, but never with the process's copy. For a guard that has just failed. */
  async checkNewest(timestamp: number): Promise<void> {
    assertFresh(timestamp, await this.current());
  }

  /**
   * Begins to read the safepoint if the process's copy is old or will soon be, so that a later
   * check need not wait for it. A failure is left to that check.
   */
  refresh(): void {
    if (this.cacheMs === 0 || this.#ageMs < this.cacheMs / 2) return;
    const answer = this.#recent();
    if (answer instanceof Promise) answer.catch(() => undefined);
  }

  get #ageMs(): number {
    return elapsedMs(this.#readAt, readClocks(this.#environment));
  }

  /** Like {@link current}, but shares a read under way if it is younger than `cacheMs`. */
  #recent(): MaybePromise<number> {
    const at = readClocks(this.#environment);
    if (this.#asked !== undefined && elapsedMs(this.#asked.at, at) < this.cacheMs) return this.#asked.answer;
    const answer = this.current();
    if (!(answer instanceof Promise)) return answer;
    const asked = { at, answer };
    this.#asked = asked;
    const end = () => {
      if (this.#asked === asked) this.#asked = undefined;
    };
    answer.then(end, end);
    return answer;
  }

  /** Reads the safepoint from the store. */
  current(): MaybePromise<number> {
    const readAt = readClocks(this.#environment);
    const page = this.#store.readRow(readSafepoint);
    if (page instanceof Promise) return page.then((answer) => this.#learn(answer, readAt));
    return this.#learn(page, readAt);
  }

  #learn(page: RowPage, readAt: ClockReading): number {
    const found = page.cells[0]?.write?.timestamp ?? 0;
    if (found >= this.#known) this.#known = found;
    if (readAt.monotonic >= this.#readAt.monotonic) this.#readAt = readAt;
    return this.#known;
  }

  /**
   * Returns a guard that holds only if the safepoint has not passed `start`, for prewrites and
   * one-phase commits. It returns the same object for the same start, which many transactions
   * share. A store can therefore remember whether the guard holds.
   */
  guard(start: number): RowMutation {
    if (this.#guard === undefined || this.#guardStart !== start) {
      this.#guard = guardAt(start);
      this.#guardStart = start;
    }
    return this.#guard;
  }

  /**
   * Moves the safepoint forward to `timestamp`. Returns the safepoint, which may already be later.
   */
  async publish(timestamp: number, signal?: AbortSignal): Promise<number> {
    const { table, row, column } = safepointCell;
    const value = encodeWrite({ start: 0, kind: "put", onePhase: true, value: new Uint8Array(0) });
    const mutation: RowMutation = {
      table,
      row,
      guards: [{ type: "absent", column, part: "write", from: timestamp, to: Number.POSITIVE_INFINITY }],
      mutations: [
        { type: "put", column, part: "write", timestamp, value },
        { type: "delete", column, part: "write", from: 0, to: timestamp },
      ],
    };
    await this.#store.mutate(mutation, { signal });
    return this.current();
  }
}

function assertFresh(timestamp: number, safepoint: number): void {
  if (timestamp >= safepoint) return;
  throw new StaleSnapshotError(
    `The snapshot at ${timestamp} is older than the safepoint ${safepoint}: versions that it needs may have been ` +
      "collected. Take a new snapshot, or open the database with a longer `retentionMs`.",
  );
}

function guardAt(start: number): RowMutation {
  return {
    table: safepointCell.table,
    row: safepointCell.row,
    guards: [
      {
        type: "absent",
        column: safepointCell.column,
        part: "write",
        from: start + 1,
        to: Number.POSITIVE_INFINITY,
      },
    ],
    mutations: [],
  };
}
