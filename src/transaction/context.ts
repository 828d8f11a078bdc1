import type { Environment } from "../environment/index.js";
import type { Emitter } from "../events/index.js";
import type { Oracle } from "../oracle/index.js";
import type { TableDefinition } from "../schema/index.js";
import type { MaybePromise, RowMutation, RowStore } from "../store/index.js";
import type { ActiveTransactions } from "./active.js";
import type { BackgroundWork } from "./background.js";
import type { BufferedWrite } from "./buffer.js";
import type { CellAddress } from "./cell/address.js";
import type { KnownLoads } from "./cell/known-loads.js";
import type { MetLock, Resolution, ResolutionOutcome } from "./cell/met-lock.js";
import type { HandledCell } from "./feed/feed-entry.js";
import type { RowTurns } from "./row-turns.js";
import type { Safepoint } from "./safepoint.js";
import type { CommitHooks } from "./steps.js";
import type { Yielding } from "./yielding.js";

/** The recorded tables of the database. `Registry` in `src/observer` implements this interface. */
export interface Schemas {
  /** Whether this definition was recorded or agrees with the recorded one. */
  known(table: TableDefinition): boolean;
  /**
   * Records tables at their first use. Rejects with a `SchemaError` if they contradict the recorded
   * definitions. `signal` aborts the wait.
   */
  record(tables: readonly TableDefinition[], signal?: AbortSignal): Promise<void>;
  /**
   * Shows a row's key in messages and commands. Text stays text. A composite key becomes a JSON
   * array of its parts.
   */
  showRow(table: string, row: Uint8Array): string;
  /**
   * The table that must be written together with a column: that of its unique constraint or exact index.
   * Undefined if there is none.
   */
  keptWith(table: string, column: Uint8Array): string | undefined;
  /** Rises when this process learns that names were dropped and released. */
  readonly epoch: number;
}

/** The observers of each column, as of one generation of the registry. */
export interface ObservedColumns {
  /**
   * Guards that hold only if this view is still current when a store applies the batch. The object
   * is always the same, so that a store can remember whether its guards hold.
   */
  readonly guards: RowMutation;
  /**
   * Whether any observer watches the column, given its path's bytes. Answers quickly for unobserved
   * columns.
   */
  observed(table: string, column: Uint8Array): boolean;
  /** A hint for each observer of the cell. */
  hints(cell: CellAddress): readonly Hint[];
  /**
   * The observers of a column, with the columns of their acknowledgments and parked records. For
   * collection and checks.
   */
  observersOf(table: string, column: Uint8Array): readonly ColumnObserver[];
  /** The bulk loads, in which commits must not interfere. Undefined if there were none. */
  readonly loads?: LoadBarrier | undefined;
  /** The feeds. Undefined if there are none. */
  readonly feeds?: FeedsOfColumns | undefined;
  /** The dropped columns and tables, which commits must not write. Undefined if there are none. */
  readonly dropped?: DroppedNames | undefined;
}

/** Keeps transactions from writing columns and tables that were dropped. */
export interface DroppedNames {
  /** Why a commit is not allowed. Undefined if it is. */
  refusal(commit: Pick<LoadBarrierRequest, "start" | "epoch" | "writes">): Error | undefined;
}

/** Which feeds follow a column. */
export interface FeedsOfColumns {
  /** The names of the feeds that follow the column with this path. */
  feedsOf(table: string, column: Uint8Array): readonly string[];
  /** Whether the entries of a feed have the values of the changed cells. */
  hasValues(feed: string): boolean;
  /**
   * The names of the feeds of all observed columns. Their entries also have notified signals, and
   * what their transaction handled.
   */
  readonly ofObserved: readonly string[];
  /** Whether an observer watches the cell. */
  isObserved(cell: CellAddress): boolean;
}

/** Keeps transactions out of the ranges of bulk loads. `LoadedRanges` implements it. */
export interface LoadBarrier {
  /** Transactions that start at or above this timestamp need no check. */
  readonly until: number;
  /** Why a commit is not allowed. Undefined if it is. */
  refusal(commit: LoadBarrierRequest): Error | undefined;
}

/** What a load barrier must know of a commit. */
export interface LoadBarrierRequest {
  readonly start: number;
  /** The epoch of the recorded tables when the transaction began. */
  readonly epoch: number;
  readonly writes: readonly BufferedWrite[];
  readonly signals: readonly CellAddress[];
  readonly reads:
    | {
        rows(): readonly Pick<CellAddress, "table" | "row">[];
        readonly ranges: readonly RowRange[];
      }
    | undefined;
}

/** A range of rows of a table. */
export interface RowRange {
  readonly table: string;
  /** First row, inclusive. Default: the table's first. */
  readonly start?: Uint8Array | undefined;
  /** End, exclusive. Default: the table's end. */
  readonly end?: Uint8Array | undefined;
}

/** A hint: its address, its observer and the changed cell. */
export interface Hint {
  readonly observer: string;
  /** The address of the hint itself. */
  readonly address: CellAddress;
  /** The cell that the observer may have to handle. */
  readonly cell: CellAddress;
}

/** One observer of a column, as collection, checks and rebuilds need it. */
export interface ColumnObserver {
  readonly name: string;
  /** The column of the observer's acknowledgment, in the cell's row. */
  readonly acknowledgment: Uint8Array;
  /** The column of the observer's parked record, in the cell's row. */
  readonly parked: Uint8Array;
  /** Commit timestamp of the registration. Without a backfill, only later commits are due. */
  readonly since: number;
  /** Decodes the start timestamp in an acknowledgment or a parked record. */
  acknowledged(value: Uint8Array): number;
  /** Encodes an acknowledgment of every change up to the start timestamp. */
  acknowledging(start: number): Uint8Array;
  /**
   * Whether every unfinished backfill has passed the row. A row that they have passed counts as
   * handled even without an acknowledgment.
   */
  passed(row: Uint8Array): boolean;
}

/**
 * The observer registry, as commits use it. `Registry` in `src/observer` implements this interface.
 */
export interface Notifications {
  /**
   * The newest known view, which may be outdated. It is for commits whose batch checks the view's
   * guards.
   */
  current(): MaybePromise<ObservedColumns>;
  /**
   * The current registry. On a store without atomic batches, it may be a cached copy that is at
   * most the registry's `cacheMs` old.
   */
  fresh(): MaybePromise<ObservedColumns>;
  /**
   * Begins to read the registry if the copy that {@link fresh} uses is old or will soon be, so that
   * a later call need not wait for it. A failure is left to that call.
   */
  refresh(): void;
  /** Reads the registry now. No copy is used. */
  reload(): MaybePromise<ObservedColumns>;
  /**
   * Called after each commit point with the hints that the transaction wrote, and with what it
   * handled if it was the run of an observer.
   */
  committed(hints: readonly Hint[], commitTimestamp: number, handled: readonly HandledCell[]): void;
}

/** Tells whether the owner of a lock is alive. A wrong answer can only abort a live transaction. */
export interface Liveness {
  /** This process's session, which it writes into its locks. */
  readonly session: string;
  /**
   * Whether a session is alive. `undefined` if unknown: the lock's own time to live then decides.
   */
  alive(session: string): MaybePromise<boolean | undefined>;
}

/** Settings of transactions. `database/` sets their defaults. */
export interface TransactionSettings {
  readonly commit: "one-phase" | "two-phase";
  /** Maximum bytes of keys and values that one transaction may hold. */
  readonly transactionBytes: number;
  /** Milliseconds after its last refresh during which a lock's owner counts as alive. */
  readonly lockTtlMs: number;
  /** Milliseconds for which superseded versions are kept. */
  readonly retentionMs: number;
}

/** Resolves the locks that transactions meet. `LockResolver` implements it. */
export interface LockResolution {
  resolve(context: TransactionContext, met: MetLock, resolution: Resolution): Promise<ResolutionOutcome>;
  /** Resolves when the reader may read again. If the result is `standing`, it has only waited. */
  resolveForRead(
    context: TransactionContext,
    met: MetLock,
    resolution: Resolution,
  ): Promise<ResolutionOutcome>;
}

/** What all transactions of one open database share. */
export interface TransactionContext {
  readonly store: RowStore;
  readonly oracle: Oracle;
  readonly environment: Environment;
  readonly events: Emitter;
  readonly settings: TransactionSettings;
  readonly schemas: Schemas;
  readonly notifications: Notifications;
  readonly liveness: Liveness;
  readonly safepoint: Safepoint;
  readonly active: ActiveTransactions;
  readonly loads: KnownLoads;
  readonly resolver: LockResolution;
  readonly turns: RowTurns;
  readonly hooks: CommitHooks;
  readonly background: BackgroundWork;
  readonly yielding: Yielding;
}
