import { abortError, onAbort } from "../../../environment/index.js";
import type { BatchAnswer, RangeGuard, RowMutation } from "../../mutation.js";
import type { CommitCompany, CommitOptions } from "../../row-store.js";

/** What a request asks: rows with guards and mutations, in one step. */
export interface Task {
  readonly rows: readonly RowMutation[];
  readonly ranges: readonly RangeGuard[];
  /** Whether the request takes a timestamp, so that the counter rises to it. */
  readonly counts: boolean;
}

/**
 * A request that waits for its group. A request that is aborted before a group takes it is never
 * sent. One that is aborted later is answered `unknown`, whatever becomes of it.
 */
export class Request {
  readonly task: Task;
  /** Given if the request may wait for others. */
  readonly company: CommitCompany | undefined;
  /** The monotonic time until which it waits for a group. */
  readonly until: number;
  readonly answered: Promise<BatchAnswer>;
  #resolve!: (answer: BatchAnswer) => void;
  #reject!: (error: unknown) => void;
  #stopListening: () => void = () => undefined;
  #state: "waiting" | "taken" | "over" = "waiting";

  constructor(task: Task, options: CommitOptions | undefined, until: number) {
    this.task = task;
    this.until = until;
    this.company = options?.company;
    this.answered = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    const signal = options?.signal;
    if (signal === undefined) return;
    this.#stopListening = onAbort(signal, () => {
      const cause = abortError(signal, "A write");
      if (this.#state === "waiting") this.reject(cause);
      else this.resolve({ answer: "unknown", cause });
    });
  }

  /** Whether the request waits for a group. */
  get isWaiting(): boolean {
    return this.#state === "waiting";
  }

  /** From now on the request belongs to a group, which will be sent. */
  take(): void {
    this.#state = "taken";
  }

  resolve(answer: BatchAnswer): void {
    this.#end();
    this.#resolve(answer);
  }

  reject(error: unknown): void {
    this.#end();
    this.#reject(error);
  }

  #end(): void {
    this.#state = "over";
    this.#stopListening();
  }
}
