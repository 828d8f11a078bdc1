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
 * A transaction takes requests for so long on the event loop, or so many; the rest goes into the
 * next one. What each one costs LMDB is shared by its requests: with 4 ms, 1,000 small commits in
 * flight were a third slower than with 10.
 */
const transactionMs = 10;
const transactionRequests = 4_096;
/**
 * After a group that came too soon, before the next one: whatever is asked of LMDB's binding before
 * its thread has seen the end of a transaction joins that transaction, and holds up its flush.
 */
const restMs = 1;
/**
 * Groups in a row for which LMDB, opened anew, could not begin a transaction; then what waits
 * fails.
 */
const maxNotBegun = 3;
/** Requests between two looks at the clock. */
const requestsPerLook = 8;

/**
 * Writes for one LMDB environment. All that waits when LMDB's write lock has been got goes into one
 * transaction, and shares its flush; the next group begins while that flush runs.
 */
export class WriteQueue {
  readonly #databases: Databases;
  readonly #environment: Environment;
  readonly #path: string;
  readonly #flushes: Pick<Flushes, "through" | "flush"> | undefined;
  /** Tells this queue's groups from those of other processes. */
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
  /** Groups of the flights. */
  readonly #groups = new Set<Group>();
  /** Groups in a row for which LMDB could not begin a transaction. */
  #notBegun = 0;
  #broken: PercolatorError | undefined;

  /**
   * Without `flushes`, a group counts as flushed when LMDB's binding says so. `mend` opens LMDB
   * anew where that has to be after a failure, and says whether it had to.
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

  /** Puts `request` in line. Its promise is settled when it is done. */
  push(request: Request): void {
    if (this.#broken !== undefined) {
      request.reject(this.#broken);
      return;
    }
    this.#waiting.push(request);
    if (!this.#resting) this.#schedule();
  }

  /** Resolves when nothing is under way any more. */
  async idle(): Promise<void> {
    while (this.#flights.size > 0) await Promise.all(this.#flights);
  }

  /** LMDB's locks that something waits for now, or holds itself. */
  waitsFor(): readonly LockName[] {
    if (this.#flights.size === 0) return [];
    return this.#scheduled ? ["write", "flush"] : ["flush"];
  }

  flushedThrough(): number {
    return this.#flushes?.through() ?? 0;
  }

  /** Gives up what waits for a lock. What a group has not yet taken is never written. */
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

  /** Runs inside the write transaction. Must not throw: LMDB would commit what was put before. */
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

  /** `joined`: the last group came too soon, and joined the transaction of the one before. */
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

  /** A group without requests, too, answers those before it. */
  #hasMore(): boolean {
    return this.#taken < this.#waiting.length || this.#unanswered.length > 0;
  }

  /** LMDB's transaction of the moment. */
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
      // Beside others it may be too much; in the next transaction it comes first.
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
      // A request alone changes little, and is done again where that fails.
      if (group.requests.length > 1 && this.#leavesFreePages(transaction)) leaveFreePages(this.#databases);
      writeState(this.#databases, { counter, writer: this.#writer, group: group.number });
    }
  }

  /** Whether another process has committed last. */
  #leavesFreePages({ before }: Transaction): boolean {
    return before.writer !== this.#writer;
  }

  /**
   * Why there is no room for what a request writes; undefined if there is. `spares`: a request
   * beside others.
   */
  #findRoom({ task }: Request, { room }: Transaction, spares: boolean): PercolatorError | undefined {
    try {
      return room === undefined || room.take(task, spares) ? undefined : room.refusal();
    } catch (error) {
      return storeError(error, this.#path, nameTask(task));
    }
  }

  /**
   * Under load the line never becomes empty: what was taken goes once it is as much as what waits.
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

  /** Checks and writes one request; gives the counter after it. */
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
   * With LMDB's write lock in hand, the state says of every earlier transaction whether it is
   * committed. Later it does not: once this one is committed, the state is of this group, whatever
   * became of those before.
   */
  #noteFates(transaction: Transaction, state: StoreState): void {
    for (const group of this.#groups) {
      if (group.transaction !== undefined && group.transaction !== transaction) {
        group.fate ??= group.fateBy(state, this.#writer);
      }
    }
  }

  /**
   * With LMDB's write lock in hand, earlier transactions are committed or lost. If the state is
   * still ours, and of that group or a later one, it is committed, and may be answered without its
   * flush; if not, another process may have come between, and the flush will tell.
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
   * A group counts as flushed when the file says so, not when LMDB's binding does: that at times
   * resolved one with the flush of the transaction before the group's own.
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

  /** The group is committed and flushed. */
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
    // So that whoever is told of it sees it in the very next read.
    this.#databases.root.resetReadTxn();
    for (const request of requests) if (!request.settled) request.settle();
  }

  /**
   * The commit failed: either nothing of the group was committed, or it was, and the flush failed.
   */
  async #fail(group: Group, failure: unknown): Promise<void> {
    const reason = group.transaction?.failure ?? failure;
    // LMDB breaks its environment only after it has committed, and says so only then, or before it
    // has begun.
    if (isPanic(reason) && !group.cannotBeSeen) group.fate ??= "committed";
    // It writes its free pages before anything can be seen.
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

  /** `mended`: LMDB was opened anew; undefined where that failed. */
  #tell(group: Group, error: PercolatorError, mended: boolean | undefined): void {
    const outcome = this.#outcome(group);
    if (outcome === "lost") {
      if (mended) this.#putBack(group.requests, error);
      else
        for (const request of group.requests) if (!request.settled) request.reject(request.failure ?? error);
    } else if (outcome === "unknown" || mended === undefined) {
      for (const request of group.requests) if (!request.settled) request.settleUnknown(error);
    } else if (mended && isPanic(error.cause)) {
      // To open it anew has flushed it; a flush that had failed would not have been made good.
      this.#answer(group.requests);
    } else {
      const message =
        `The database in ${this.#path} committed, but the system could not flush its files: ${error.message} ` +
        "What was written last is lost if the machine stops. Check the disk, and open the database again.";
      this.#break(group, new StoreError(message, { cause: error }));
    }
  }

  /** What was certainly not done is done by a later group. */
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

  /** No transaction was begun for a group: the next one tries again, if that may help. */
  #beginAgain(error: PercolatorError, mended: boolean): void {
    this.#scheduled = false;
    if (!mended || ++this.#notBegun >= maxNotBegun) {
      this.#notBegun = 0;
      this.#rejectWaiting(error);
    }
    if (this.#hasMore() && !this.#resting) this.#schedule();
  }

  /** Whether a group whose commit failed can be seen all the same. */
  #outcome(group: Group): "lost" | "committed" | "unknown" {
    if (group.fate !== undefined) return group.fate;
    try {
      this.#databases.root.resetReadTxn();
      // Where another process has committed since, there is no telling.
      return group.fateBy(readState(this.#databases), this.#writer) ?? "unknown";
    } catch {
      return group.cannotBeSeen ? "lost" : "unknown";
    }
  }

  /**
   * After a failed flush, what the system still holds of the file is not known: writing on could
   * tear it.
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
