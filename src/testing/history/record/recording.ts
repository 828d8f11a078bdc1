import type { RecordedOperation, RecordedOutcome, RecordedRange, RecordedTransaction } from "../history.js";

/** Counts events. The numbers show only their order. */
export class LogicalClock {
  readonly #moment: () => number;
  #now = 0;

  /** `moment` reads another clock. The logical clock never lags behind that clock. */
  constructor(moment: () => number = () => 0) {
    this.#moment = moment;
  }

  /** Returns the next moment. */
  tick(): number {
    this.#now = Math.max(this.#now + 1, this.#moment());
    return this.#now;
  }
}

export type RecordingDetails = Pick<
  RecordedTransaction,
  "id" | "client" | "label" | "kind" | "isolation" | "startTimestamp" | "begun"
>;

/** A range whose iteration has not ended. */
export type OpenRange = { -readonly [K in keyof RecordedRange]: RecordedRange[K] };

/** Codes of the errors that guarantee that nothing was written. */
const nothingWritten: ReadonlySet<unknown> = new Set([
  "STALE_SNAPSHOT",
  "TIMEOUT",
  "ABORTED",
  "INVALID_VALUE",
  "NEWER_VALUE",
  "INVALID_KEY",
  "INVALID_ARGUMENT",
  "LIMIT_EXCEEDED",
  "SCHEMA",
  "OBSERVER",
  "STORE",
  "STORE_FULL",
  "STORE_BUSY",
  "STORE_MOVED",
  "UNAWAITED_CALL",
]);

/** One transaction during its recording. */
export class Recording {
  readonly clock: LogicalClock;
  readonly #details: RecordingDetails;
  readonly #operations: RecordedOperation[] = [];
  #committing = false;
  #outcome: RecordedOutcome | undefined;
  #ended: number | undefined;

  constructor(clock: LogicalClock, details: RecordingDetails) {
    this.clock = clock;
    this.#details = details;
  }

  get hasEnded(): boolean {
    return this.#outcome !== undefined;
  }

  add(operation: RecordedOperation): void {
    this.#operations.push(operation);
  }

  /** Records the request to commit. Without an answer, the outcome stays unknown. */
  committing(): void {
    this.#committing = true;
  }

  committed(commitTimestamp: number | undefined): void {
    this.#end({ type: "committed", commitTimestamp });
  }

  /** Records a rollback. One during the commit does not stop it, so it tells nothing. */
  rolledBack(): void {
    if (!this.#committing) this.#end({ type: "failed" });
  }

  /**
   * Records an error. If the error came before the request to commit, nothing was written. After
   * the request, the error's code tells whether something may have been written.
   */
  failed(error: unknown): void {
    const code = (error as { code?: unknown } | undefined)?.code;
    if (code === "CONFLICT") this.#end({ type: "conflicted" });
    else this.#end({ type: !this.#committing || nothingWritten.has(code) ? "failed" : "unknown" });
  }

  /** Returns the transaction as recorded so far. */
  transaction(): RecordedTransaction {
    const outcome = this.#outcome ?? { type: this.#committing ? "unknown" : "failed" };
    return { ...this.#details, ended: this.#ended, outcome, operations: [...this.#operations] };
  }

  #end(outcome: RecordedOutcome): void {
    if (this.#outcome !== undefined) return;
    this.#outcome = outcome;
    this.#ended = this.clock.tick();
  }
}
