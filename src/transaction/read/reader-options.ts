import type { TransactionTrace } from "../trace.js";
import type { ReadRecorder } from "./read-recorder.js";

/** How a transaction reads. */
export interface ReaderOptions {
  readonly signal?: AbortSignal | undefined;
  readonly recorder?: ReadRecorder | undefined;
  /** Reads below the safepoint what collection keeps on purpose: `previous` of an observer. */
  readonly exempt?: boolean | undefined;
  /** Takes down what is read and waited for, where somebody listens. */
  readonly trace?: TransactionTrace | undefined;
}
