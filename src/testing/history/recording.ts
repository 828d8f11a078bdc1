import type { RecordedOperation, RecordedOutcome, RecordedRange, RecordedTransaction } from "./history.js";

/** Counts what happens; order is all that it tells. */
export class LogicalClock {
  readonly #moment: () => number;
  #now = 0;

  /** `moment`: of a clock beside this one, which is then never behind it. */
  constructor(moment: () => number = () => 0) {
    this.#moment = moment;
  }

  /** The next moment. */
  tick(): number {
    this.#now = Math.max(this.#now + 1, this.#moment());
    return this.#now;
  }
}

export type RecordingDetails = Pick<
  RecordedTransaction,
  "id" | "client" | "label" | "kind" | "isolation" | "startTimestamp" | "begun"
>;

/** A range whose iteration goes on. */
export type OpenRange = { -readonly [K in keyof RecordedRange]: RecordedRange[K] };

/** Errors after which, by their word, nothing was written. */
const nothingWritten: ReadonlySet<unknown> = new Set([
  "STALE_SNAPSHOT",
  "TIMEOUT",
  "ABORTED",
  "INVALID_VALUE",
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

/** One transaction while it is recorded. */
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

  /** The commit is asked for; without an answer, its outcome is unknown. */
  committing(): void {
    this.#committing = true;
  }

  committed(commitTimestamp: number | undefined): void {
    this.#end({ type: "committed", commitTimestamp });
  }

  rolledBack(): void {
    this.#end({ type: "failed" });
  }

  /** Ended by an error: before the commit was asked for nothing can have been written, afterwards its code says. */
  failed(error: unknown): void {
    const code = (error as { code?: unknown } | undefined)?.code;
    if (code === "CONFLICT") this.#end({ type: "conflicted" });
    else this.#end({ type: !this.#committing || nothingWritten.has(code) ? "failed" : "unknown" });
  }

  /** The transaction as it stands now. */
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
