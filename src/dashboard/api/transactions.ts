import type { CellName } from "./shared.js";

/**
 * `GET api/transactions?list=&label=&observer=&outcome=&table=&slowerThanMs=&limit=`: newest first.
 * `list` is `recent` (the default), `slow` (the slowest of the last five minutes, slowest first),
 * `conflicts` or `failed`. The stream sends new ones as event `transactions`.
 */
export interface TransactionShown {
  /** Unique among the remembered transactions. */
  readonly id: string;
  readonly process: string;
  readonly startTimestamp: number;
  readonly commitTimestamp: number | undefined;
  readonly outcome: "committed" | "conflict" | "rolled back";
  readonly label: string | undefined;
  readonly observer: string | undefined;
  readonly phases: 1 | 2 | undefined;
  readonly endedAt: number;
  readonly durationMs: number;
  readonly reads: number;
  readonly cells: number;
  /** The tables that it read, wrote, conflicted on or ran for, as far as they were recorded. */
  readonly tables: readonly string[];
  /** The change that an observer ran for: its cell, and when it was committed. */
  readonly cause: { readonly cell: CellName; readonly commitTimestamp: number } | undefined;
  /**
   * The cell on which the transaction conflicted, and the transaction that won, as far as known.
   */
  readonly conflict:
    | {
        readonly cell: CellName | undefined;
        readonly winnerTimestamp: number | undefined;
        readonly winner: string | undefined;
      }
    | undefined;
  readonly error: string | undefined;
}

/** `GET api/transaction?id=`. */
export interface TransactionDetail extends TransactionShown {
  readonly spans: readonly TransactionSpan[];
  /** The cells that the transaction read and wrote, up to a bound. */
  readonly read: readonly CellName[];
  readonly written: readonly CellName[];
  /**
   * The transaction that caused this one, and the runs that this one caused, if still remembered.
   */
  readonly causedBy: TransactionShown | undefined;
  readonly caused: readonly TransactionShown[];
}

/** A part of a transaction that took time. */
export interface TransactionSpan {
  readonly name: string;
  /** Time since the transaction began. */
  readonly fromMs: number;
  readonly toMs: number;
  readonly cell: CellName | undefined;
  readonly kind: "read" | "wait" | "step";
}
