import type { TransactionTrace } from "../trace.js";
import type { ReadRecorder } from "./read-recorder.js";

/** Options of a `SnapshotReader`. */
export interface ReaderOptions {
  readonly signal?: AbortSignal | undefined;
  readonly recorder?: ReadRecorder | undefined;
  /**
   * Skips the check of the safepoint. An observer's `previous` sets it, because collection keeps
   * that version on purpose.
   */
  readonly exempt?: boolean | undefined;
  /** Records reads and waits. Present if the event `transaction` has a listener. */
  readonly trace?: TransactionTrace | undefined;
}
