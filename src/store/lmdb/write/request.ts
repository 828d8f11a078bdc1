import { abortError, type Environment, onAbort, systemEnvironment } from "../../../environment/index.js";
import type { PercolatorError } from "../../../errors/index.js";
import type { AtomicBatch, BatchAnswer, MutationAnswer, RowMutation } from "../../mutation.js";
import type { StoreRequestOptions } from "../../row-store.js";

/** What waits to be written: one row, one batch, or one increment of the counter. */
export type Task =
  | { readonly type: "mutate"; readonly mutation: RowMutation }
  | { readonly type: "commit"; readonly batch: AtomicBatch }
  | { readonly type: "next" };

/** What a task is answered with. */
export type Answer = MutationAnswer | BatchAnswer | number;

const doing = {
  mutate: "To mutate a row",
  commit: "To commit a batch",
  next: "To take a timestamp",
} as const;

/**
 * So long an aborted request waits for its answer if it may have been written already: an answer is
 * worth more than "unknown".
 */
const answerMs = 1_000;

/** Times that a request goes into another group, after LMDB had to be opened anew. */
const maxPutBacks = 2;

/** One task on its way: waiting, taken into a group, answered. */
export class Request {
  readonly task: Task;
  /** Answer when LMDB has committed, before it has flushed. */
  readonly early: boolean;
  readonly answered: Promise<Answer>;
  /** What to answer once the group is committed. */
  answer: Answer | undefined;
  /** Why this request alone failed, before anything of it was written. */
  failure: PercolatorError | undefined;
  settled = false;
  whenEnded: (() => void) | undefined;
  #taken = false;
  #seenWaiting = false;
  #putBacks = 0;
  #resolve!: (answer: Answer) => void;
  #reject!: (reason: unknown) => void;
  readonly #signal: AbortSignal | undefined;
  readonly #stopListening: (() => void) | undefined;

  readonly #environment: Environment;

  constructor(
    task: Task,
    early: boolean,
    options: StoreRequestOptions | undefined,
    environment: Environment = systemEnvironment,
  ) {
    this.task = task;
    this.#environment = environment;
    // A timestamp need not wait for the flush. LMDB keeps the order of its commits: where anything
    // written with it, or after it, outlives a stop of the machine, so does the counter; where
    // nothing does, nothing knows of it.
    this.early = early || task.type === "next";
    this.answered = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    this.#signal = options?.signal;
    if (this.#signal === undefined) return;
    this.#stopListening = onAbort(this.#signal, () => this.#abort());
  }

  /** A group is about to do it; from here on an abort leaves open whether it is done. */
  take(): void {
    this.#taken = true;
  }

  /** It was not done, and waits again; false where it has done so often enough. */
  putBack(): boolean {
    this.#taken = false;
    this.answer = undefined;
    return ++this.#putBacks <= maxPutBacks;
  }

  /** Answers what was found. */
  settle(): void {
    if (this.failure !== undefined) this.reject(this.failure);
    else if (this.answer !== undefined) this.resolve(this.answer);
  }

  /** Answers that it may have been applied. */
  settleUnknown(error: PercolatorError): void {
    if (this.failure !== undefined) this.reject(this.failure);
    else if (this.task.type === "next") this.reject(error);
    else this.resolve(this.task.type === "mutate" ? "unknown" : { answer: "unknown", cause: error });
  }

  resolve(answer: Answer): void {
    this.#end();
    this.#resolve(answer);
  }

  reject(error: unknown): void {
    this.#end();
    this.#reject(error);
  }

  #end(): void {
    this.settled = true;
    this.whenEnded?.();
    this.#stopListening?.();
  }

  #abort(): void {
    if (this.settled) return;
    const error = abortError(this.#signal!, doing[this.task.type]);
    if (!this.#taken) {
      this.reject(error);
      return;
    }
    const giveUp = () => {
      if (!this.settled) this.settleUnknown(error);
    };
    this.#environment.setTimer(giveUp, answerMs, { background: true });
  }

  /**
   * Another process holds a lock that it waits for: given up at the second look, so that each has
   * waited a while.
   */
  giveUp(error: PercolatorError): void {
    if (this.settled) return;
    if (!this.#seenWaiting) this.#seenWaiting = true;
    else if (this.#taken) this.settleUnknown(error);
    else this.reject(error);
  }
}

/** What a task does, for messages. */
export function nameTask(task: Task): string {
  if (task.type === "next") return "take a timestamp";
  return task.type === "commit"
    ? "commit a batch"
    : `mutate a row of table ${JSON.stringify(task.mutation.table)}`;
}
