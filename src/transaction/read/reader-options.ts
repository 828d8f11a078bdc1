import type { TransactionTrace } from "../trace.js";
import type { ReadRecorder } from "./read-recorder.js";

/** Options of a `SnapshotReader`. */
export interface ReaderOptions {
  readonly signal?: AbortSignal | undefined;
  readonly recorder?: ReadRecorder | undefined;
  /**
   * Skips the check of the safepoint. The read of an observer's `previous` sets this option,
   * because collection keeps that version on purpose.
   */
  readonly exempt?: boolean | undefined;
  /**
   * Records the transaction's reads and its waits. Present if the event `transaction` has a
   * listener.
   */
  readonly trace?: TransactionTrace | undefined;
}
