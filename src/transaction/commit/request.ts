import type { CommitCompany, RowMutation } from "../../store/index.js";
import type { BufferedWrite } from "../buffer.js";
import type { CellAddress } from "../cell/address.js";
import type { Hint } from "../context.js";
import type { HandledCell } from "../feed/feed-entry.js";
import type { ReadSet } from "./read-set.js";

/**
 * A transaction at its commit, as the one-phase and two-phase protocols receive it from
 * `CoreTransaction`.
 */
export interface CommitRequest {
  readonly start: number;
  /** The epoch of the recorded tables when it began. */
  readonly epoch: number;
  /** Sorted by table, row and column. Each cell appears once. */
  readonly writes: readonly BufferedWrite[];
  readonly signals: readonly CellAddress[];
  /** The write that becomes the primary. Default: the first write. */
  readonly primary: CellAddress | undefined;
  /** The read set. Undefined unless the transaction is `serializable`. */
  readonly reads: ReadSet | undefined;
  /**
   * True for a transaction on the system's own cells. It does not consult the observer registry,
   * and writes only the hints in `hints`.
   */
  readonly system: boolean;
  /** Unguarded mutations for the batch of a one-phase commit: they delete handled hints. */
  readonly extras: readonly RowMutation[];
  /**
   * Hints in addition to those of the written cells: each makes one observer look at its cell
   * again.
   */
  readonly hints: readonly Hint[];
  /** What the transaction handled: set by an observer's run, by parking and by discarding. */
  readonly handled: readonly HandledCell[];
  readonly label: string | undefined;
  /** The observer whose run this is. */
  readonly observer: string | undefined;
  readonly signal: AbortSignal | undefined;
  /** Given if nobody waits for this commit alone. */
  readonly company: CommitCompany | undefined;
}
