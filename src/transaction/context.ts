import type { Environment } from "../environment/index.js";
import type { Emitter } from "../events/index.js";
import type { Oracle } from "../oracle/index.js";
import type { TableDefinition } from "../schema/index.js";
import type { MaybePromise, RowMutation, RowStore } from "../store/index.js";
import type { ActiveTransactions } from "./active.js";
import type { BackgroundWork } from "./background.js";
import type { CellAddress } from "./cell/address.js";
import type { MetLock, Resolution, ResolutionOutcome } from "./cell/met-lock.js";
import type { RowTurns } from "./row-turns.js";
import type { Safepoint } from "./safepoint.js";
import type { CommitHooks } from "./steps.js";
import type { Yielding } from "./yielding.js";

/** The tables that the database knows. Stated here, kept by a higher room. */
export interface Schemas {
  /** Whether this very definition was recorded, or found to agree with what is recorded. */
  known(table: TableDefinition): boolean;
  /** Records tables at their first use; rejects with a `SchemaError` where they clash with what is recorded. Given up by `signal`. */
  record(tables: readonly TableDefinition[], signal?: AbortSignal): Promise<void>;
  /** A row's key as messages and commands show it: text as it is, a composite key as a JSON array of its parts. */
  showRow(table: string, row: Uint8Array): string;
}

/** Who watches what, as of one generation of the registry. */
export interface ObservedColumns {
  /**
   * Guards under which this view is still true when a batch is applied, on a store with atomic batches. The
   * same objects every time, so that a store may remember their outcome.
   */
  readonly guards: RowMutation;
  /** Whether any observer watches the column, given its path's bytes as a string. A quick no for most writes. */
  observed(table: string, column: Uint8Array): boolean;
  /** A hint for each observer of the cell. */
  hints(cell: CellAddress): readonly Hint[];
  /** The observers of a column, with where they acknowledge; for collection and checks. */
  observersOf(table: string, column: Uint8Array): readonly ColumnObserver[];
}

/** Where a hint stands, and whose it is. */
export interface Hint {
  readonly observer: string;
  /** Where the hint itself stands. */
  readonly address: CellAddress;
  /** The cell that the observer may be due on. */
  readonly cell: CellAddress;
}

/** One observer of a strong column, as collection sees it. */
export interface ColumnObserver {
  readonly name: string;
  /** Where its acknowledgment of the cell stands, in the cell's row. */
  readonly acknowledgment: Uint8Array;
  /** Where its parked record of the cell stands, in the cell's row. */
  readonly parked: Uint8Array;
  /** Only commits above this timestamp are due by themselves: it was registered then. */
  readonly since: number;
  /** The start timestamp that an acknowledgment (or parked record) holds. */
  acknowledged(value: Uint8Array): number;
  /** Whether a row without an acknowledgment counts as handled: it stands where the backfill has passed. */
  passed(row: Uint8Array): boolean;
}

/** The registry's word on what is observed. Stated here, kept by the observer room. */
export interface Notifications {
  /** The newest view known. It may be old: for commits whose batch checks its guards. */
  current(): MaybePromise<ObservedColumns>;
  /** The registry as it stands now; where a store has no atomic batches, no older than the declared cache time. */
  fresh(): MaybePromise<ObservedColumns>;
  /** Told after the commit point, with the hints that the transaction wrote. */
  committed(hints: readonly Hint[], commitTimestamp: number): void;
}

/** Whether the owner of a lock still lives. A hint only: a wrong answer may abort a live transaction, no more. */
export interface Liveness {
  /** This process's session, written into its locks. */
  readonly session: string;
  /** `undefined`: not known; the lock's own time decides. */
  alive(session: string): MaybePromise<boolean | undefined>;
}

/** Settings of transactions, all with defaults in `database/`. */
export interface TransactionSettings {
  readonly commit: "one-phase" | "two-phase";
  /** The most bytes of keys and values that one transaction may hold. */
  readonly transactionBytes: number;
  /** How long a lock's owner counts as alive after its last sign, in milliseconds. */
  readonly lockTtlMs: number;
  /** How long versions are kept, in milliseconds. */
  readonly retentionMs: number;
}

/** Deals with locks that a transaction meets. */
export interface LockResolution {
  resolve(context: TransactionContext, met: MetLock, resolution: Resolution): Promise<ResolutionOutcome>;
  /** Resolves when the reader may read again. */
  resolveForRead(context: TransactionContext, met: MetLock, resolution: Resolution): Promise<void>;
}

/** What transactions are made of: one per open database. */
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
  readonly resolver: LockResolution;
  readonly turns: RowTurns;
  readonly hooks: CommitHooks;
  readonly background: BackgroundWork;
  readonly yielding: Yielding;
}
