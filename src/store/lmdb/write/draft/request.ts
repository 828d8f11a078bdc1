import { abortError, type Environment, onAbort, systemEnvironment } from "../../../../environment/index.js";
import type { PercolatorError } from "../../../../errors/index.js";
import type { FillAnswer, FillBatch } from "../../../fill.js";
import type { AtomicBatch, BatchAnswer, RowMutation } from "../../../mutation.js";
import type { StoreRequestOptions } from "../../../row-store.js";

/**
 * A write that a request asks for: a mutation of one row, a batch, a block of cells for an empty
 * range, or an increment of the counter.
 */
export type Task =
  | { readonly type: "mutate"; readonly mutation: RowMutation }
  | { readonly type: "commit"; readonly batch: AtomicBatch }
  | { readonly type: "fill"; readonly batch: FillBatch }
  | { readonly type: "next" };

/** The answer to a task. */
export type Answer = FillAnswer | BatchAnswer | number;

const doing = {
  mutate: "A request to mutate a row",
  commit: "A request to commit a batch",
  fill: "A request to fill a range",
  next: "A request to take a timestamp",
} as const;

/**
 * How long an aborted request still waits for its answer if it may be written already, in
 * milliseconds. A real answer is worth more than "unknown".
 */
const answerMs = 1_000;

/** How often a request may go into another group because LMDB had to be reopened. */
const maxPutBacks = 2;

/**
 * One task on its way through the write queue. It waits, a group takes it, and it is answered. If
 * the group was lost, the request waits again.
 */
export class Request {
  readonly task: Task;
  /** Whether to answer when LMDB has committed, before the flush. */
  readonly early: boolean;
  readonly answered: Promise<Answer>;
  /** The answer to give once the group is committed. */
  answer: Answer | undefined;
  /** Why this request alone failed, before anything of it was written. */
  failure: PercolatorError | undefined;
  settled = false;
  #taken = false;
  #seenWaiting = false;
  #putBacks = 0;
  #resolve!: (answer: Answer) => void;
  #reject!: (reason: unknown) => void;
  readonly #signal: AbortSignal | undefined;
  readonly #stopListening: (() => void) | undefined;

  readonly #environment: Environment;
  readonly #underWay: Set<Request> | undefined;

  /** `underWay`: has the request until it is answered. */
  constructor(
    task: Task,
    early: boolean,
    options: StoreRequestOptions | undefined,
    environment: Environment = systemEnvironment,
    underWay?: Set<Request>,
  ) {
    this.#underWay = underWay;
    underWay?.add(this);
    this.task = task;
    this.#environment = environment;
    // A timestamp need not wait for the flush. LMDB keeps the order of its commits. So if anything
    // that was written with the timestamp or after it survives a stop of the machine, the counter
    // survives too. If nothing survives, the timestamp is stored nowhere.
    this.early = early || task.type === "next";
    this.answered = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    this.#signal = options?.signal;
    if (this.#signal === undefined) return;
    this.#stopListening = onAbort(this.#signal, () => this.#abort());
  }

  /**
   * Called when a group is about to do the task. From then on, an aborted request may or may not be
   * done.
   */
  take(): void {
    this.#taken = true;
  }

  /**
   * Makes the request wait again after its group was lost. Returns false if that has happened too
   * often.
   */
  putBack(): boolean {
    this.#taken = false;
    this.answer = undefined;
    return ++this.#putBacks <= maxPutBacks;
  }

  /** Forgets the answer, because the plan that it comes from is not used. */
  unplan(): void {
    this.answer = undefined;
    this.failure = undefined;
  }

  /** Settles the request with its failure or its answer. */
  settle(): void {
    if (this.failure !== undefined) this.reject(this.failure);
    else if (this.answer !== undefined) this.resolve(this.answer);
  }

  /** Settles a request whose task may have been applied. */
  settleUnknown(error: PercolatorError): void {
    if (this.failure !== undefined) this.reject(this.failure);
    else if (this.task.type === "next") this.reject(error);
    else this.resolve(this.task.type === "commit" ? { answer: "unknown", cause: error } : "unknown");
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
    this.#underWay?.delete(this);
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
   * Called when another process holds a lock for which the request waits. The second call gives the
   * request up, so each request waits for at least the time between two calls.
   */
  giveUp(error: PercolatorError): void {
    if (this.settled) return;
    if (!this.#seenWaiting) this.#seenWaiting = true;
    else if (this.#taken) this.settleUnknown(error);
    else this.reject(error);
  }
}

/** Names the task for messages. */
export function nameTask(task: Task): string {
  if (task.type === "next") return "take a timestamp";
  if (task.type === "commit") return "commit a batch";
  return task.type === "fill"
    ? `fill a range of table ${JSON.stringify(task.batch.cells.table)}`
    : `mutate a row of table ${JSON.stringify(task.mutation.table)}`;
}
