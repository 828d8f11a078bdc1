import type { Environment } from "../../../environment/index.js";
import { InternalError, type PercolatorError, StoreError } from "../../../errors/index.js";
import { type Flushes, flushThrough } from "../file/flushes.js";
import type { LockName } from "../file/lock-holder.js";
import type { Databases } from "../record/databases.js";
import { isFreePagesLost, isPanic, storeError } from "../record/errors.js";
import { leaveFreePages, readState, type StoreState, writeState } from "../record/state.js";
import type { Draft } from "./draft/draft.js";
import { nameTask, type Request } from "./draft/request.js";
import { Group, type Transaction } from "./group.js";
import { DraftPlanner, requestsPerLook } from "./plan/draft-planner.js";
import type { QueueHooks } from "./queue-hooks.js";

/**
 * A transaction takes requests for at most 10 ms of the event loop's time, and at most 4,096
 * requests. The rest goes into the next transaction. Requests share the fixed cost of a
 * transaction: with 4 ms, 1,000 small concurrent commits were a third slower than with 10 ms.
 */
const transactionMs = 10;
const transactionRequests = 4_096;
/** So few requests are not divided over two drafts: the cost of a flush would be shared less. */
export const undividedRequests = 64;
/**
 * How many consecutive groups may fail to begin a transaction in a reopened LMDB. After that, the
 * waiting requests fail.
 */
const maxNotBegun = 3;

/**
 * Group commit for one LMDB environment. Requests that wait at the same time share a transaction
 * and its flush.
 *
 * While LMDB writes one group, the queue plans the next one: it checks the guards and computes the
 * records, on top of the groups before. Such a plan is a {@link Draft}. When readers can see the
 * group before, the queue requests LMDB's write lock for the next group, and queues the records of
 * its draft behind that request. When the group has the lock, it compares the store's state with
 * the state that the draft was planned on. If they are equal, no other process has written in
 * between. LMDB's own thread then writes the records, while this thread plans the next draft. If
 * they differ, the group drops the draft. It then checks and writes the waiting requests itself,
 * while it has the lock.
 *
 * | state of a group | next | when |
 * | --- | --- | --- |
 * | scheduled | filled | LMDB has opened a transaction, and the draft is right or the requests are written |
 * | filled | committed | LMDB reports the commit; requests with `early` are answered |
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
  /** The requests in order. Groups have taken the first `#taken` of them. */
  #waiting: Request[] = [];
  #taken = 0;
  readonly #planner: DraftPlanner;
  /**
   * Whether to plan drafts. A draft is probably useless if another process has written since this
   * queue's last group, or if the disk is nearly full, so that each request needs space to be found.
   */
  #mayPlan = true;
  /** Whether {@link #advance} will run soon. */
  #advancing = false;
  /** The group that waits for LMDB's write lock. */
  #scheduled: Group | undefined;
  /** The group that had the lock last, until readers can see its commit. */
  #unseen: Group | undefined;
  #lastGroup = 0;
  #transaction: Transaction | undefined;
  /** Groups with requests that may be answered once LMDB has committed. */
  #unanswered: Group[] = [];
  readonly #flights = new Set<Promise<void>>();
  /** The groups of the running transactions and flushes. */
  readonly #groups = new Set<Group>();
  /** How many consecutive groups could not begin a transaction. */
  #notBegun = 0;
  #broken: PercolatorError | undefined;

  /**
   * `flushes` reads from the file which transactions are flushed. Without it, the queue trusts
   * LMDB's binding. `mend` reopens LMDB after a failure if necessary, and resolves to whether it
   * did.
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
    this.#planner = new DraftPlanner(databases, environment, path);
    this.#environment = environment;
    this.#path = path;
    this.#writer = Math.floor(environment.random() * Number.MAX_SAFE_INTEGER);
  }

  /** Adds `request` to the queue. The request's promise settles when the request is done. */
  push(request: Request): void {
    if (this.#broken !== undefined) {
      request.reject(this.#broken);
      return;
    }
    this.#waiting.push(request);
    this.#advanceSoon();
  }

  /** Begins a transaction, even if no request waits, unless one will begin anyway. */
  touch(): void {
    if (this.#broken === undefined && this.#scheduled === undefined && this.#unseen === undefined)
      this.#schedule();
  }

  /** Resolves when no transaction or flush runs. */
  async idle(): Promise<void> {
    while (this.#flights.size > 0) await Promise.all(this.#flights);
  }

  /** LMDB's locks for which requests wait now, or which this queue holds. */
  waitsFor(): readonly LockName[] {
    if (this.#flights.size === 0) return [];
    return this.#scheduled === undefined ? ["flush"] : ["write", "flush"];
  }

  flushedThrough(): number {
    return this.#flushes?.through() ?? 0;
  }

  /**
   * Gives up the requests that wait for a lock. A request that is given up before a group has taken
   * it is never written.
   */
  giveUp(lock: LockName, error: PercolatorError): void {
    if (lock === "flush")
      for (const group of this.#groups) for (const request of group.requests) request.giveUp(error);
    for (let at = this.#taken; at < this.#waiting.length; at++) this.#waiting[at]!.giveUp(error);
  }

  #advanceSoon(): void {
    if (this.#advancing) return;
    this.#advancing = true;
    this.#environment.defer(() => {
      this.#advancing = false;
      this.#advance();
    });
  }

  /** Plans waiting requests. Schedules them once readers can see the group before. */
  #advance(): void {
    // A group that waits for the lock soon needs this thread.
    if (this.#scheduled !== undefined || !this.#hasMore()) return;
    const isPlanned = this.#plan();
    if (this.#unseen === undefined) this.#schedule();
    else if (!isPlanned) this.#advanceSoon();
  }

  /**
   * The most requests of a draft. If many callers wait for answers before they send more, one draft
   * with all of their requests would leave the main thread idle while LMDB writes it. With half of
   * them in each, the main thread plans one draft while LMDB writes the other.
   */
  #draftRequests(): number {
    let unanswered = this.#waiting.length - this.#taken;
    for (const { requests } of this.#groups) unanswered += requests.length;
    return Math.min(transactionRequests, Math.max(undividedRequests, Math.ceil(unanswered / 2)));
  }

  /** Returns false if there is more to plan. */
  #plan(): boolean {
    // A draft cannot see what a group has written itself until readers can see it.
    if (!this.#mayPlan || this.#unseen?.wroteNow === true) return true;
    try {
      return this.#planner.plan(this.#waiting, this.#taken, this.#draftRequests(), transactionMs);
    } catch {
      // LMDB cannot be read. A group without a draft will fail for the same reason, and say so.
      this.#planner.clear();
      this.#mayPlan = false;
      return true;
    }
  }

  #schedule(): void {
    const number = ++this.#lastGroup;
    const group = new Group(number, this.#planner.take({ writer: this.#writer, group: number }));
    this.#scheduled = group;
    this.#groups.add(group);
    this.#hooks.waits?.();
    const ready = this.#hooks.ready?.();
    const flight = (ready === undefined ? this.#begin(group) : ready.then(() => this.#begin(group)))
      .then(() => this.#flushed(group))
      .then(
        () => this.#finish(group),
        (error: unknown) => this.#fail(group, error),
      )
      .finally(() => {
        this.#flights.delete(flight);
        this.#groups.delete(group);
        this.#unanswered = this.#unanswered.filter((each) => each !== group);
        this.#goOn(group);
      });
    this.#flights.add(flight);
  }

  #begin(group: Group): Promise<void> {
    const ended = this.#databases.root.transaction(
      () => this.#fill(group),
      () => this.#seen(group),
    );
    const { draft, number } = group;
    if (draft?.writes === true) {
      const after = { counter: draft.counter, writer: this.#writer, group: number };
      group.queued = draft.queue(this.#databases, after);
    }
    return ended;
  }

  /**
   * Runs inside the write transaction. It must not throw, since LMDB would commit the puts before
   * the error.
   */
  #fill(group: Group): void {
    group.begun = true;
    this.#scheduled = undefined;
    this.#unseen = group;
    this.#notBegun = 0;
    let isRight = false;
    try {
      if (!this.#databases.root.mayWrite()) {
        this.#writeLater(group);
        return;
      }
      this.#hooks.checkPlace?.();
      const state = readState(this.#databases);
      group.transaction = this.#enter(state);
      this.#noteFates(group.transaction, state);
      this.#answerEarly(group.transaction, state);
      isRight = group.isDraftRight(state) && group.draft!.first === this.#waiting[this.#taken];
      if (isRight) this.#takeDraft(group, group.transaction, group.draft!);
      else this.#fillNow(group, group.transaction, state);
    } catch (error) {
      isRight = false;
      if (group.transaction !== undefined) group.transaction.failure ??= error;
      else this.#break(group, storeError(error, this.#path, "write"));
    }
    if (!isRight) this.#dropDraft(group);
    if (group.early && group.wrote) this.#unanswered.push(group);
    this.#advanceSoon();
  }

  #takeDraft(group: Group, transaction: Transaction, draft: Draft): void {
    for (const request of draft.requests) {
      request.take();
      group.requests.push(request);
    }
    this.#taken += draft.covered;
    this.#forgetTaken();
    group.early = draft.early;
    group.wrote = draft.writes;
    if (group.wrote && group.requests.length > 1 && this.#leavesFreePages(transaction))
      leaveFreePages(this.#databases);
  }

  /** Checks and writes the waiting requests, because the group has no draft that is right. */
  #fillNow(group: Group, transaction: Transaction, state: StoreState): void {
    this.#planner.beginNow();
    for (const request of group.draft?.requests ?? []) request.unplan();
    this.#drain(group, transaction, state.counter);
    this.#mayPlan = transaction.room === undefined && !this.#leavesFreePages(transaction);
  }

  /**
   * Ends a group whose transaction must not write anything. The next group takes its requests, and
   * answers for the groups before.
   */
  #writeLater(group: Group): void {
    this.#dropDraft(group);
    this.#planner.clear();
    for (const request of group.draft?.requests ?? []) request.unplan();
  }

  /** Keeps LMDB's thread from writing the draft. */
  #dropDraft(group: Group): void {
    group.queued?.drop();
    group.queued = undefined;
  }

  /** Readers can see the group's commit, if it wrote anything. */
  #seen(group: Group): void {
    if (this.#unanswered.length > 0) this.#answerSeen();
    this.#goOn(group);
  }

  /** Answers early requests of the groups that readers can see. */
  #answerSeen(): void {
    try {
      this.#databases.root.resetReadTxn();
      const state = readState(this.#databases);
      const early = this.#unanswered.filter((each) => each.isCommittedBy(state, this.#writer));
      this.#unanswered = this.#unanswered.filter((each) => !early.includes(each));
      for (const each of early) this.#answer(each.requests.filter((request) => request.early));
    } catch {
      // The next group or the flush answers them.
    }
  }

  /** Goes on when the group's commit is visible, or the group has ended. */
  #goOn(group: Group): void {
    if (this.#unseen === group) this.#unseen = undefined;
    if (this.#scheduled === group) this.#scheduled = undefined;
    if (this.#hasMore()) this.#advanceSoon();
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
    let counter = counterBefore;
    while (this.#taken < this.#waiting.length && this.#takesMore(transaction)) {
      const request = this.#waiting[this.#taken]!;
      const spares = group.requests.length > 0 && this.#leavesFreePages(transaction);
      const refusal = request.settled ? undefined : this.#findRoom(request, transaction, spares);
      // The transaction has too little disk space left for this request. The request will be the
      // first of the next transaction.
      if (refusal !== undefined && transaction.requests > 1) break;
      this.#taken++;
      if (refusal !== undefined) request.reject(refusal);
      if (request.settled) continue;
      group.requests.push(request);
      group.early ||= request.early;
      counter = this.#do(request, group, counter);
    }
    this.#forgetTaken();
    if (group.wrote && transaction.failure === undefined) {
      // A single request needs no spare pages. It changes few pages, and if its commit fails, the
      // queue repeats it.
      if (group.requests.length > 1 && this.#leavesFreePages(transaction)) leaveFreePages(this.#databases);
      writeState(this.#databases, { counter, writer: this.#writer, group: group.number });
    }
  }

  /** Whether another process made the last commit. */
  #leavesFreePages({ before }: Transaction): boolean {
    return before.writer !== this.#writer;
  }

  /**
   * The error for a request that needs more disk space than there is. Undefined if the space
   * suffices. `spares`: whether the request needs spare pages too, as a request does that shares its
   * transaction.
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
  #do(request: Request, group: Group, counter: number): number {
    request.take();
    try {
      const done = this.#planner.doNow(request, counter);
      group.wrote ||= done.wrote;
      return done.counter;
    } catch (error) {
      group.wrote = true;
      group.transaction!.failure = error;
      return counter;
    }
  }

  /**
   * Records which earlier groups were committed. While this transaction holds LMDB's write lock,
   * the stored state shows that reliably. Once this transaction is committed, the state describes
   * this transaction instead.
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
   * and the number of an earlier group or a greater one, that group is committed. If the state
   * names another queue, another process may have committed in between, and the flush decides.
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
   * Waits until the file shows that a group is flushed. LMDB's binding is not reliable: sometimes
   * it resolved a group's promise after the flush of an earlier transaction.
   */
  #flushed(group: Group): Promise<void> | undefined {
    const { transaction, wrote, fate } = group;
    if (this.#flushes === undefined || transaction === undefined || !wrote) return undefined;
    if (transaction.failure !== undefined) return undefined;
    if (fate !== "lost" && this.#flushes.through() >= transaction.id) return undefined;
    return this.#awaitFlush(this.#flushes, transaction, group);
  }

  async #awaitFlush(
    flushes: Pick<Flushes, "through" | "flush">,
    transaction: Transaction,
    group: Group,
  ): Promise<void> {
    const isFlushed = await flushThrough(flushes, transaction.id, this.#environment);
    if (!isFlushed || this.#outcome(group) === "lost") {
      throw new StoreError(`LMDB did not commit its transaction ${transaction.id}, and gave no reason.`);
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
    if (group.queued !== undefined) this.#planner.forget(group.draft!);
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
    // Later drafts may be planned on top of this group.
    this.#planner.clear();
    // LMDB breaks its environment only after a commit, or before a transaction begins. A group that
    // wrote something was therefore committed.
    if (isPanic(reason) && !group.cannotBeSeen) group.fate ??= "committed";
    // LMDB writes its list of free pages before the commit is visible, so nothing of the group was
    // committed.
    if (isFreePagesLost(reason)) group.fate ??= "lost";
    let reopened: boolean | undefined;
    let error = storeError(reason, this.#path, "write");
    try {
      reopened = await this.#mend(reason);
    } catch (failed) {
      error = storeError(failed, this.#path, "write");
    }
    if (group.begun) this.#tell(group, error, reopened);
    else this.#beginAgain(error, reopened === true);
  }

  /**
   * Answers a group whose commit failed. `reopened`: whether LMDB was reopened; undefined if that
   * failed.
   */
  #tell(group: Group, error: PercolatorError, reopened: boolean | undefined): void {
    const outcome = this.#outcome(group);
    if (outcome === "lost") {
      if (reopened) this.#putBack(group.requests, error);
      else
        for (const request of group.requests) if (!request.settled) request.reject(request.failure ?? error);
    } else if (outcome === "unknown" || reopened === undefined) {
      for (const request of group.requests) if (!request.settled) request.settleUnknown(error);
    } else if (reopened && isPanic(error.cause)) {
      // Reopening LMDB has flushed the file. Reopening would have failed if an earlier flush had
      // failed.
      this.#answer(group.requests);
    } else {
      const message =
        `The database in ${this.#path} committed, but the system could not flush its files: ${error.message} ` +
        "The last commits are lost if the machine stops. Check the disk, and open the database again.";
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
    this.#planner.clear();
    this.#advanceSoon();
  }

  /**
   * Handles a group for which LMDB could not begin a transaction. The next group tries again, if
   * that may help.
   */
  #beginAgain(error: PercolatorError, reopened: boolean): void {
    if (!reopened || ++this.#notBegun >= maxNotBegun) {
      this.#notBegun = 0;
      this.#rejectWaiting(error);
    }
    this.#mayPlan = true;
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
   * Stops all writing after a failed flush. It is then unknown which pages have reached the disk,
   * and another write could leave the file torn.
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
    this.#planner.clear();
  }
}
