import type { Environment } from "../../../environment/index.js";
import { InternalError, type PercolatorError, StoreError } from "../../../errors/index.js";
import { type Flushes, flushThrough } from "../file/flushes.js";
import type { LockName } from "../file/lock-holder.js";
import type { Databases } from "../record/databases.js";
import { isFreePagesLost, isPanic, storeError } from "../record/errors.js";
import { leaveFreePages, readState, type StoreState, writeState } from "../record/state.js";
import { Group, type Transaction } from "./group.js";
import { GuardCache } from "./guard-cache.js";
import { Plan, planRequest } from "./plan.js";
import type { QueueHooks } from "./queue-hooks.js";
import { nameTask, type Request } from "./request.js";

/**
 * A transaction takes requests for at most 10 ms of the event loop's time, and at most 4,096 of
 * them. The rest goes into the next transaction. Requests share the fixed cost of a transaction:
 * with 4 ms, 1,000 small concurrent commits were a third slower than with 10 ms.
 */
const transactionMs = 10;
const transactionRequests = 4_096;
/**
 * Pause after a group that came too soon, in milliseconds. A request that reaches LMDB's binding
 * before its thread has noticed the end of a transaction joins that transaction, and delays its
 * flush.
 */
const restMs = 1;
/**
 * How many groups in a row may fail to begin a transaction in a reopened LMDB. After that, the
 * waiting requests fail.
 */
const maxNotBegun = 3;
/** How many requests to do between two reads of the clock. */
const requestsPerLook = 8;

/**
 * Group commit for one LMDB environment. All requests that wait when the queue gets LMDB's write
 * lock go into one transaction and share its flush. The next group begins while that flush runs.
 *
 * | state of a group | next | when |
 * | --- | --- | --- |
 * | scheduled | filled | LMDB has opened a transaction, and the requests are written |
 * | filled | committed | LMDB reports the commit; early requests are answered |
 * | committed | flushed | the file shows the flush; all requests are answered |
 * | filled | lost | the commit failed without effect: the requests fail or wait again |
 * | filled | unknown | the commit failed, and another process hides its outcome |
 * | committed | broken | the flush failed: the queue accepts no more writes |
 */
export class WriteQueue {
  readonly #databases: Databases;
  readonly #environment: Environment;
  readonly #path: string;
  readonly #flushes: Pick<Flushes, "through" | "flush"> | undefined;
  /** Distinguishes this queue's groups from those of other processes. */
  readonly #writer: number;
  readonly #mend: (error: unknown) => Promise<boolean>;
  readonly #hooks: QueueHooks;
  #waiting: Request[] = [];
  #taken = 0;
  #scheduled = false;
  #resting = false;
  #lastGroup = 0;
  #transaction: Transaction | undefined;
  /** Groups with requests that may be answered once LMDB has committed. */
  #unanswered: Group[] = [];
  readonly #flights = new Set<Promise<void>>();
  /** The groups of the running transactions and flushes. */
  readonly #groups = new Set<Group>();
  /** How many groups in a row could not begin a transaction. */
  #notBegun = 0;
  #broken: PercolatorError | undefined;

  /**
   * `flushes` tells from the file what is flushed. Without it, the queue trusts LMDB's binding.
   * `mend` reopens LMDB after a failure if necessary, and resolves to whether it did.
   */
  constructor(
    databases: Databases,
    environment: Environment,
    path: string,
    flushes?: Pick<Flushes, "through" | "flush">,
    mend: (error: unknown) => Promise<boolean> = async () => false,
    hooks: QueueHooks = {},
  ) {
    this.#hooks = hooks;
    this.#mend = mend;
    this.#flushes = flushes;
    this.#databases = databases;
    this.#environment = environment;
    this.#path = path;
    this.#writer = Math.floor(environment.random() * Number.MAX_SAFE_INTEGER);
  }

  /** Adds `request` to the queue. Its promise settles when it is done. */
  push(request: Request): void {
    if (this.#broken !== undefined) {
      request.reject(this.#broken);
      return;
    }
    this.#waiting.push(request);
    if (!this.#resting) this.#schedule();
  }

  /** Resolves when no transaction or flush runs. */
  async idle(): Promise<void> {
    while (this.#flights.size > 0) await Promise.all(this.#flights);
  }

  /** LMDB's locks for which requests wait now, or which this queue holds. */
  waitsFor(): readonly LockName[] {
    if (this.#flights.size === 0) return [];
    return this.#scheduled ? ["write", "flush"] : ["flush"];
  }

  flushedThrough(): number {
    return this.#flushes?.through() ?? 0;
  }

  /**
   * Gives up the requests that wait for a lock. A request that no group has taken yet is never
   * written.
   */
  giveUp(lock: LockName, error: PercolatorError): void {
    if (lock === "flush")
      for (const group of this.#groups) for (const request of group.requests) request.giveUp(error);
    for (let at = this.#taken; at < this.#waiting.length; at++) this.#waiting[at]!.giveUp(error);
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    const group = new Group(++this.#lastGroup);
    this.#groups.add(group);
    this.#hooks.waits?.();
    const begin = () => this.#databases.root.transaction(() => this.#fill(group));
    const ready = this.#hooks.ready?.();
    const flight = (ready === undefined ? begin() : ready.then(begin))
      .then(() => this.#flushed(group))
      .then(
        () => this.#finish(group),
        (error: unknown) => this.#fail(group, error),
      )
      .finally(() => {
        this.#flights.delete(flight);
        this.#groups.delete(group);
        this.#unanswered = this.#unanswered.filter((each) => each !== group);
      });
    this.#flights.add(flight);
  }

  /**
   * Runs inside the write transaction. It must not throw, since LMDB would commit the puts before
   * the error.
   */
  #fill(group: Group): void {
    const before = this.#transaction;
    group.begun = true;
    this.#notBegun = 0;
    try {
      this.#hooks.checkPlace?.();
      const state = readState(this.#databases);
      group.transaction = this.#enter(state);
      this.#noteFates(group.transaction, state);
      this.#answerEarly(group.transaction, state);
      this.#drain(group, group.transaction, state.counter);
    } catch (error) {
      if (group.transaction !== undefined) group.transaction.failure ??= error;
      else this.#break(group, storeError(error, this.#path, "write"));
    }
    this.#scheduled = false;
    if (group.early && group.wrote) this.#unanswered.push(group);
    if (this.#hasMore()) this.#rest(group.transaction === before);
  }

  /** `joined`: the last group came too soon, and joined the transaction before it. */
  #rest(joined: boolean): void {
    if (this.#resting) return;
    this.#resting = true;
    const goOn = () => {
      this.#resting = false;
      if (this.#hasMore()) this.#schedule();
    };
    if (joined) this.#environment.setTimer(goOn, restMs);
    else this.#environment.defer(goOn);
  }

  /** Whether another group is needed. A group without requests still answers those before it. */
  #hasMore(): boolean {
    return this.#taken < this.#waiting.length || this.#unanswered.length > 0;
  }

  /** The object for LMDB's current transaction. */
  #enter(state: StoreState): Transaction {
    const { root } = this.#databases;
    const thread = root.thread();
    if (this.#transaction?.thread !== thread) {
      const started = this.#environment.monotonic();
      const id = root.getWriteTxnId();
      const room = this.#hooks.room?.();
      this.#transaction = { id, thread, before: state, started, room, requests: 0, failure: undefined };
    }
    return this.#transaction;
  }

  #drain(group: Group, transaction: Transaction, counterBefore: number): void {
    const memo = new GuardCache();
    let counter = counterBefore;
    while (this.#taken < this.#waiting.length && this.#takesMore(transaction)) {
      const request = this.#waiting[this.#taken]!;
      const spares = group.requests.length > 0 && this.#leavesFreePages(transaction);
      const refusal = request.settled ? undefined : this.#findRoom(request, transaction, spares);
      // The transaction has no room left for this request after the others. It will be the first of
      // the next transaction.
      if (refusal !== undefined && transaction.requests > 1) break;
      this.#taken++;
      if (refusal !== undefined) request.reject(refusal);
      if (request.settled) continue;
      group.requests.push(request);
      group.early ||= request.early;
      counter = this.#do(request, group, memo, counter);
    }
    this.#forgetTaken();
    if (group.wrote && transaction.failure === undefined) {
      // A single request changes little, and the queue repeats it if its commit fails.
      if (group.requests.length > 1 && this.#leavesFreePages(transaction)) leaveFreePages(this.#databases);
      writeState(this.#databases, { counter, writer: this.#writer, group: group.number });
    }
  }

  /** Whether another process made the last commit. */
  #leavesFreePages({ before }: Transaction): boolean {
    return before.writer !== this.#writer;
  }

  /**
   * Why the disk has no room for a request. Undefined if it has. `spares`: whether to count spare
   * pages too, as for a request that shares its transaction.
   */
  #findRoom({ task }: Request, { room }: Transaction, spares: boolean): PercolatorError | undefined {
    try {
      return room === undefined || room.take(task, spares) ? undefined : room.refusal();
    } catch (error) {
      return storeError(error, this.#path, nameTask(task));
    }
  }

  /**
   * Drops taken requests from the array. Under load the queue never becomes empty, so it drops them
   * once they are at least half of the array.
   */
  #forgetTaken(): void {
    if (this.#taken * 2 < this.#waiting.length) return;
    this.#waiting = this.#waiting.slice(this.#taken);
    this.#taken = 0;
  }

  #takesMore(transaction: Transaction): boolean {
    if (transaction.failure !== undefined || transaction.requests >= transactionRequests) return false;
    const look = transaction.requests++ % requestsPerLook === 0;
    return !look || this.#environment.monotonic() - transaction.started <= transactionMs;
  }

  /** Checks and writes one request. Returns the counter after it. */
  #do(request: Request, group: Group, memo: GuardCache, counter: number): number {
    request.take();
    const plan = new Plan(this.#databases, memo);
    let after = counter;
    try {
      after = planRequest(plan, request, counter, this.#environment.now());
    } catch (error) {
      request.failure = storeError(error, this.#path, nameTask(request.task));
      return counter;
    }
    try {
      if (plan.write() || after !== counter) group.wrote = true;
    } catch (error) {
      group.wrote = true;
      group.transaction!.failure = error;
    }
    return after;
  }

  /**
   * Records which earlier groups are committed. While this transaction holds LMDB's write lock, the
   * state tells that for certain. Once this transaction is committed, the state describes it
   * instead.
   */
  #noteFates(transaction: Transaction, state: StoreState): void {
    for (const group of this.#groups) {
      if (group.transaction !== undefined && group.transaction !== transaction) {
        group.fate ??= group.fateBy(state, this.#writer);
      }
    }
  }

  /**
   * Answers requests of earlier groups without waiting for their flush. While this transaction
   * holds LMDB's write lock, every earlier one is committed or lost. If the state names this queue
   * and that group or a later one, the group is committed. If it does not, another process may have
   * committed in between, and the flush decides.
   */
  #answerEarly(transaction: Transaction, state: StoreState): void {
    const earlier = this.#unanswered.filter((group) => group.transaction !== transaction);
    if (earlier.length === 0) return;
    this.#unanswered = this.#unanswered.filter((group) => group.transaction === transaction);
    if (state.writer !== this.#writer) return;
    for (const group of earlier) {
      if (state.group >= group.number) this.#answer(group.requests.filter((request) => request.early));
    }
  }

  /**
   * Waits until the file shows that a group is flushed. LMDB's binding is not reliable: at times it
   * resolved a group with the flush of the transaction before it.
   */
  #flushed(group: Group): Promise<void> | undefined {
    const { transaction, wrote } = group;
    if (this.#flushes === undefined || transaction === undefined || !wrote) return undefined;
    if (transaction.failure !== undefined || this.#flushes.through() >= transaction.id) return undefined;
    return this.#awaitFlush(this.#flushes, transaction, group);
  }

  async #awaitFlush(
    flushes: Pick<Flushes, "through" | "flush">,
    transaction: Transaction,
    group: Group,
  ): Promise<void> {
    const isFlushed = await flushThrough(flushes, transaction.id, this.#environment);
    if (!isFlushed || this.#outcome(group) === "lost") {
      throw new StoreError(`LMDB did not commit its transaction ${transaction.id}, and did not say why.`);
    }
  }

  /** Answers the requests of a group that is committed and flushed. */
  #finish(group: Group): void {
    if (group.transaction?.failure !== undefined) {
      this.#break(
        group,
        new InternalError(`The database in ${this.#path} committed a write that had failed.`),
      );
      return;
    }
    this.#answer(group.requests);
  }

  #answer(requests: readonly Request[]): void {
    try {
      this.#hooks.checkPlace?.();
    } catch (error) {
      this.#break({ requests }, storeError(error, this.#path, "write"));
      return;
    }
    // A caller that gets its answer must see the commit in its very next read.
    this.#databases.root.resetReadTxn();
    for (const request of requests) if (!request.settled) request.settle();
  }

  /**
   * Handles a failed commit. Either nothing of the group was committed, or it was committed and its
   * flush failed.
   */
  async #fail(group: Group, failure: unknown): Promise<void> {
    const reason = group.transaction?.failure ?? failure;
    // LMDB breaks its environment only after a commit, or before it begins one.
    if (isPanic(reason) && !group.cannotBeSeen) group.fate ??= "committed";
    // LMDB writes its list of free pages before the commit is visible, so nothing of it was
    // committed.
    if (isFreePagesLost(reason)) group.fate ??= "lost";
    let mended: boolean | undefined;
    let error = storeError(reason, this.#path, "write");
    try {
      mended = await this.#mend(reason);
    } catch (failed) {
      error = storeError(failed, this.#path, "write");
    }
    if (group.begun) this.#tell(group, error, mended);
    else this.#beginAgain(error, mended === true);
  }

  /**
   * Answers a group whose commit failed. `mended`: whether LMDB was reopened; undefined if that
   * failed.
   */
  #tell(group: Group, error: PercolatorError, mended: boolean | undefined): void {
    const outcome = this.#outcome(group);
    if (outcome === "lost") {
      if (mended) this.#putBack(group.requests, error);
      else
        for (const request of group.requests) if (!request.settled) request.reject(request.failure ?? error);
    } else if (outcome === "unknown" || mended === undefined) {
      for (const request of group.requests) if (!request.settled) request.settleUnknown(error);
    } else if (mended && isPanic(error.cause)) {
      // Reopening LMDB has flushed the file. It fails if an earlier flush has failed.
      this.#answer(group.requests);
    } else {
      const message =
        `The database in ${this.#path} committed, but the system could not flush its files: ${error.message} ` +
        "What was written last is lost if the machine stops. Check the disk, and open the database again.";
      this.#break(group, new StoreError(message, { cause: error }));
    }
  }

  /** Puts requests that were certainly not done back into the queue. */
  #putBack(requests: readonly Request[], error: PercolatorError): void {
    const again: Request[] = [];
    for (const request of requests) {
      if (request.settled) continue;
      const failure = request.failure ?? this.#broken;
      if (failure === undefined && request.putBack()) again.push(request);
      else request.reject(failure ?? error);
    }
    this.#waiting = [...again, ...this.#waiting.slice(this.#taken)];
    this.#taken = 0;
    if (this.#hasMore() && !this.#resting) this.#schedule();
  }

  /**
   * Handles a group for which LMDB could not begin a transaction. The next group tries again, if
   * that may help.
   */
  #beginAgain(error: PercolatorError, mended: boolean): void {
    this.#scheduled = false;
    if (!mended || ++this.#notBegun >= maxNotBegun) {
      this.#notBegun = 0;
      this.#rejectWaiting(error);
    }
    if (this.#hasMore() && !this.#resting) this.#schedule();
  }

  /** Whether a group whose commit failed is visible anyway. */
  #outcome(group: Group): "lost" | "committed" | "unknown" {
    if (group.fate !== undefined) return group.fate;
    try {
      this.#databases.root.resetReadTxn();
      // If another process has committed since, this cannot be known.
      return group.fateBy(readState(this.#databases), this.#writer) ?? "unknown";
    } catch {
      return group.cannotBeSeen ? "lost" : "unknown";
    }
  }

  /**
   * Stops all writing after a failed flush. What the system holds of the file is then unknown, and
   * another write could tear it.
   */
  #break({ requests }: { readonly requests: readonly Request[] }, error: PercolatorError): void {
    this.#broken ??= error;
    for (const request of requests) if (!request.settled) request.settleUnknown(error);
    this.#rejectWaiting(error);
  }

  #rejectWaiting(error: PercolatorError): void {
    for (const request of this.#waiting.slice(this.#taken)) if (!request.settled) request.reject(error);
    this.#waiting = [];
    this.#taken = 0;
  }
}
