import {
  type ClockReading,
  elapsedMs,
  readClocks,
  throwIfAborted,
  unlessAborted,
} from "../../environment/index.js";
import { CommitOutcomeUnknownError, ConflictError, StoreError } from "../../errors/index.js";
import { equalBytes, type Guard, type Mutation, type MutationAnswer } from "../../store/index.js";
import type { BufferedWrite } from "../buffer.js";
import type { CellAddress } from "../cell/address.js";
import { commitGuard, lockedGuard } from "../cell/guards.js";
import { encodeStatus } from "../cell/records.js";
import type { FeedsOfColumns, Hint, ObservedColumns, TransactionContext } from "../context.js";
import { announcedUs } from "../feed/feed-rows.js";
import { announcedEntries } from "../feed/feed-writes.js";
import { deleteLockAndData, readPrimary, rollbackPrimary } from "../lock/primary.js";
import { lockedValue, rollForwardMutations } from "../lock/roll-forward.js";
import type { StepName } from "../steps.js";
import { mayGoInBulk } from "./bulk.js";
import { type Chunk, divideIntoChunks } from "./chunks.js";
import { commitStep } from "./commit-step.js";
import { conflict } from "./conflict.js";
import { currentView } from "./current-view.js";
import { askOutcome, shortlyAfter } from "./decide.js";
import type { CommitOutcome } from "./outcome.js";
import { prewriteAll } from "./prewrite.js";
import { findHints, putHints } from "./put-hints.js";
import { keepLockYoung } from "./refresh.js";
import type { CommitRequest } from "./request.js";
import { validateReads } from "./validate.js";

/**
 * Maximum number of new commit timestamps that a transaction takes because readers have pushed it.
 */
const maxPushes = 1_000;

/** Commits by the paper's full protocol (figure 6) with the additions of protocol §3.3. */
export async function commitTwoPhase(
  context: TransactionContext,
  request: CommitRequest,
): Promise<CommitOutcome> {
  return new TwoPhaseCommit(context, request).run();
}

function outage(message: string): StoreError {
  return new StoreError(message, { retryable: true });
}

/** The entries of a transaction in feeds, as it has locked them. */
interface Announcement {
  /** The timestamp in their rows. */
  readonly at: number;
  readonly writes: readonly BufferedWrite[];
  readonly chunks: readonly Chunk[];
}

function hasSameValues(a: readonly BufferedWrite[], b: readonly BufferedWrite[]): boolean {
  if (a.length !== b.length) return false;
  return a.every(({ row, value }, i) => equalBytes(row, b[i]!.row) && equalBytes(value!, b[i]!.value!));
}

/**
 * One two-phase commit: the five steps of protocol §3.3, in order.
 *
 * States (protocol §3.8):
 * - open: nothing is written yet
 * - locking: step 1 has sent the prewrites
 * - locked: the store has applied all prewrites
 * - committed: the store has applied step 4 to the primary
 * - rolled back: a step before step 4 failed, or another process rolled the primary back
 *
 * After step 4 was sent, only the primary's status tells which of the last two states holds.
 */
class TwoPhaseCommit {
  readonly #context: TransactionContext;
  readonly #request: CommitRequest;
  readonly #chunks: readonly [Chunk, ...Chunk[]];
  readonly #primary: CellAddress;
  /** The entries in feeds. Undefined until there are any. */
  #announcement: Announcement | undefined;
  /** Chunks whose prewrite was applied or may have been. */
  readonly #locked = new Set<Chunk>();
  /** When the transaction first asked for a commit timestamp. */
  #askedAt: ClockReading | undefined;

  constructor(context: TransactionContext, request: CommitRequest) {
    this.#context = context;
    this.#request = request;
    this.#chunks = divideIntoChunks(request, context.store.capabilities);
    const { table, row, column } = this.#chunks[0].writes[0]!;
    this.#primary = { table, row, column };
  }

  async run(): Promise<CommitOutcome> {
    await this.#awaitRoom();
    // Step 3 needs the registry. The prewrites go on meanwhile.
    if (!this.#request.system) this.#context.notifications.refresh();
    const refreshing = keepLockYoung(this.#context, this.#primary, this.#request);
    try {
      await this.#announceEarly();
      await this.#prewriteAll(this.#allChunks);
      await this.#orAbandon(() => this.#checkPrewrites());
      return await this.#commitAtTimestamps();
    } finally {
      refreshing.stop();
    }
  }

  /**
   * Waits until there is room among the background work. Nothing is written yet, so a deadline may
   * end this wait.
   */
  async #awaitRoom(): Promise<void> {
    const room = this.#context.background.room();
    if (room === undefined) return;
    const { signal, start } = this.#request;
    await unlessAborted(room, signal, `Committing the transaction that started at ${start}`);
  }

  /**
   * Step 1. Prewrites the chunks and waits until all that were sent have settled. A late prewrite
   * could otherwise arrive after the rollback.
   */
  async #prewriteAll(chunks: readonly Chunk[]): Promise<void> {
    const isSent = (chunk: Chunk) => this.#locked.add(chunk);
    const answers = await prewriteAll(this.#context, this.#request, this.#primary, chunks, isSent);
    let refusal: ConflictError | undefined;
    let isUnknown = false;
    for (const [index, answer] of answers.entries()) {
      if (answer.status === "rejected") return this.#abandon(answer.reason);
      if (answer.value instanceof ConflictError) {
        refusal ??= answer.value;
        this.#locked.delete(chunks[index]!);
      } else if (answer.value === "unknown") isUnknown = true;
    }
    if (refusal !== undefined) return this.#refused(refusal);
    if (!isUnknown) return;
    return this.#abandon(
      outage(
        `The store did not answer a prewrite of the transaction at ${this.#request.start}. Nothing was written. Run it again.`,
      ),
    );
  }

  /**
   * Rolls the transaction back after the store has refused a prewrite. If the store refused the
   * primary's prewrite, the transaction can never commit, so it needs no tombstone.
   */
  async #refused(error: ConflictError): Promise<never> {
    if (this.#locked.has(this.#chunks[0])) return this.#abandon(error);
    await this.#rollbackSecondaries();
    throw error;
  }

  /**
   * On a store without atomic batches, a prewrite may have been under way for longer than
   * collection waits. Collection may then have dropped a record that should have made the prewrite
   * fail. If the safepoint is still at or below the start after all prewrites, collection has
   * dropped no such record.
   */
  async #checkPrewrites(): Promise<void> {
    const { store, safepoint } = this.#context;
    if (store.atomic === undefined) await safepoint.check(this.#request.start);
  }

  /** All chunks, those of the feeds' entries last. */
  get #allChunks(): readonly Chunk[] {
    const chunks = this.#announcement?.chunks;
    return chunks === undefined ? this.#chunks : [...this.#chunks, ...chunks];
  }

  /**
   * Announces the entries in feeds together with step 1, which costs no round trip of its own. The
   * registry may be an old copy: {@link #announceAgain} looks again.
   */
  async #announceEarly(): Promise<void> {
    const { start, system } = this.#request;
    if (system) return;
    const { notifications, oracle } = this.#context;
    const { feeds } = await notifications.current();
    if (feeds === undefined || (await oracle.latest()) - start > announcedUs / 2) return;
    this.#announcement = this.#announce(feeds, start);
  }

  #announce(feeds: FeedsOfColumns, at: number): Announcement | undefined {
    const writes = announcedEntries(feeds, this.#request, at);
    if (writes.length === 0) return undefined;
    const { capabilities } = this.#context.store;
    return { at, writes, chunks: divideIntoChunks({ writes, primary: undefined }, capabilities) };
  }

  /**
   * Announces the entries in feeds again, if they are not those that the current registry asks for,
   * or if `commit` came too late after their announcement. Returns whether it did. The transaction
   * then needs a new commit timestamp, because that must follow the last prewrite.
   */
  async #announceAgain(view: ObservedColumns | undefined, commit: number): Promise<boolean> {
    const before = this.#announcement;
    const feeds = view?.feeds;
    if (feeds === undefined && before === undefined) return false;
    if (before !== undefined && commit - before.at <= announcedUs) {
      const asked = feeds === undefined ? [] : announcedEntries(feeds, this.#request, before.at);
      if (hasSameValues(asked, before.writes)) return false;
    }
    const now = feeds === undefined ? undefined : this.#announce(feeds, commit);
    if (before === undefined && now === undefined) return false;
    await this.#orAbandon(async () => {
      for (const chunk of before?.chunks ?? []) await this.#retract(chunk);
    });
    this.#announcement = now;
    if (now !== undefined) await this.#prewriteAll(now.chunks);
    return true;
  }

  /** Removes an announced entry. A reader could otherwise see two entries of this transaction. */
  async #retract(chunk: Chunk): Promise<void> {
    const answer = await this.#rollbackSecondary(chunk);
    this.#locked.delete(chunk);
    if (answer !== "unknown") return;
    throw outage(
      `The store did not answer while the transaction at ${this.#request.start} moved its entry in a feed. Nothing was ` +
        "written. Run it again.",
    );
  }

  /**
   * Steps 2 to 4, repeated with a new commit timestamp if a reader has pushed the transaction above
   * the last timestamp.
   */
  async #commitAtTimestamps(): Promise<CommitOutcome> {
    for (let push = 0; push < maxPushes; push++) {
      const commit = await this.#orAbandon(() => this.#takeTimestamp());
      const view = await this.#orAbandon(() => currentView(this.#context, this.#request));
      if (await this.#announceAgain(view, commit)) continue;
      await this.#orAbandon(() => this.#validate(commit));
      const hints = await this.#orAbandon(() => this.#putHints(view, commit));
      const answer = await this.#orAbandon(() => this.#commitPrimary(commit));
      if (answer === "applied") return this.#committed(commit, hints);
      if (answer === "rejected" && (await this.#wasPushed(commit))) continue;
      const outcome = await this.#decide();
      if (outcome !== undefined) return this.#committed(outcome, hints);
      if (answer === "unknown") throw this.#unanswered();
      throw conflict(
        this.#context,
        this.#request,
        this.#primary,
        undefined,
        "rolled it back while it was committing",
      );
    }
    return this.#abandon(
      outage(
        `Readers pushed the commit timestamp of the transaction at ${this.#request.start} ${maxPushes} times. Nothing was written. Run it again.`,
      ),
    ) as Promise<never>;
  }

  /**
   * The error after a missing answer. It is not a conflict, because no other transaction is known
   * to have interfered.
   */
  #unanswered(): StoreError {
    const { start } = this.#request;
    return outage(
      `The store did not answer the commit of the transaction at ${start}, so it was rolled back. Nothing was ` +
        "written. Run it again from the start (`db.transact` does so by itself).",
    );
  }

  /** Step 2. Takes the commit timestamp only after the last prewrite was acknowledged. */
  #takeTimestamp(): Promise<number> {
    const { signal } = this.#request;
    const info = { startTimestamp: this.#request.start, label: this.#request.label };
    this.#askedAt ??= readClocks(this.#context.environment);
    return this.#context.hooks.step("commit-timestamp", info, () => this.#context.oracle.next({ signal }));
  }

  async #validate(commit: number): Promise<void> {
    const { reads, start, label } = this.#request;
    if (reads === undefined) return;
    const info = { startTimestamp: start, commitTimestamp: commit, label };
    await this.#context.hooks.step("validate", info, () =>
      validateReads(this.#context, this.#request, commit),
    );
  }

  /**
   * Step 3. Writes a hint for each observer of each written cell and notified signal. The store has
   * acknowledged all of them before the commit point.
   */
  async #putHints(view: ObservedColumns | undefined, commit: number): Promise<readonly Hint[]> {
    const hints = await findHints(this.#context, this.#request, view);
    await putHints(this.#context, this.#request, hints, commit);
    return hints;
  }

  /** Step 4, the commit point. */
  #commitPrimary(commit: number): Promise<MutationAnswer> {
    const chunk = this.#chunks[0];
    const { start, signal } = this.#request;
    throwIfAborted(signal, `Committing the transaction that started at ${start}`);
    return this.#step(
      "commit-primary",
      this.#primary,
      () =>
        this.#context.store.mutate({
          table: chunk.table,
          row: chunk.row,
          guards: [commitGuard(this.#primary.column, start, commit)],
          mutations: [
            ...chunk.writes.flatMap((write) => this.#commitMutations(write, commit)),
            {
              type: "put",
              column: this.#primary.column,
              part: "txn",
              timestamp: start,
              value: encodeStatus({ outcome: "committed", commit }),
            },
          ],
        }),
      commit,
    );
  }

  #commitMutations(write: BufferedWrite, commit: number): readonly Mutation[] {
    return rollForwardMutations(
      write.column,
      this.#request.start,
      commit,
      lockedValue(this.#context.store, write),
    );
  }

  /**
   * Whether a reader has pushed the transaction above `commit`. Returns false if the primary cannot
   * be read: the commit was already sent, so the caller must find out the outcome instead of
   * abandoning the transaction.
   */
  async #wasPushed(commit: number): Promise<boolean> {
    try {
      const found = await readPrimary(this.#context.store, this.#primary, this.#request.start);
      return found.state === "locked" && found.lock.minCommit > commit;
    } catch {
      return false;
    }
  }

  /**
   * Decides the transaction when an answer is missing: tries to roll the primary back, and so
   * learns the primary's final status (protocol §3.4). Returns the commit timestamp, or undefined
   * if the transaction was rolled back.
   */
  async #decide(): Promise<number | undefined> {
    const { start } = this.#request;
    const status = await this.#ask(() => rollbackPrimary(this.#context, this.#primary, start));
    if (status.outcome === "committed") return status.commit;
    if ((await this.#ask(() => this.#context.safepoint.current())) > start) {
      throw new CommitOutcomeUnknownError(
        `It is no longer known whether the transaction that started at ${start} committed: garbage collection has passed ` +
          "its start. Read the cells that it would have written before you repeat it.",
      );
    }
    await this.#rollbackSecondaries();
    return undefined;
  }

  #ask<T>(ask: () => T | Promise<T>): Promise<T> {
    return askOutcome(this.#context, this.#request, ask);
  }

  /**
   * Rolls everything back after a failure before the commit was sent, and throws that failure.
   * Transactions that meet remaining locks resolve them.
   */
  async #abandon(failure: unknown): Promise<never> {
    const { environment, events } = this.#context;
    try {
      await shortlyAfter(environment, this.#request.signal, async () => {
        await rollbackPrimary(this.#context, this.#primary, this.#request.start);
        await this.#rollbackSecondaries();
      });
    } catch (error) {
      events.emit("backgroundFailure", { doing: "rolling a transaction back", error });
    }
    throw failure;
  }

  async #orAbandon<T>(run: () => Promise<T>): Promise<T> {
    try {
      return await run();
    } catch (failure) {
      return this.#abandon(failure);
    }
  }

  /**
   * Deletes the locks of every chunk except the primary's. The transaction can no longer commit.
   */
  async #rollbackSecondaries(): Promise<void> {
    const locked = this.#allChunks.filter((chunk, index) => index > 0 && this.#locked.has(chunk));
    await this.#settleAll("rolling locks back", locked, (chunk) => this.#rollbackSecondary(chunk));
  }

  #rollbackSecondary(chunk: Chunk): Promise<MutationAnswer> {
    const { start } = this.#request;
    const first = chunk.writes[0]!;
    return this.#step("rollback-secondary", first, () =>
      this.#context.store.mutate({
        table: chunk.table,
        row: chunk.row,
        guards: [lockedGuard(first.column, start)],
        mutations: chunk.writes.flatMap((write) => deleteLockAndData(write.column, start)),
      }),
    );
  }

  /** Step 5. Answers the caller and rolls the secondaries forward in the background. */
  #committed(commit: number, hints: readonly Hint[]): CommitOutcome {
    const rest = this.#allChunks.slice(1);
    const { background } = this.#context;
    const rolling = this.#settleAll("rolling locks forward", rest, (chunk) =>
      background.send(() => this.#commitSecondary(chunk, commit)),
    );
    return { commitTimestamp: commit, hints, background: rolling };
  }

  async #commitSecondary(chunk: Chunk, commit: number): Promise<void> {
    const answer = await this.#commitCells(chunk, chunk.writes, commit);
    if (answer !== "rejected" || chunk.writes.length === 1) return;
    // Another transaction has rolled the first cell forward. The guard on that cell's lock can no
    // longer hold, so each other cell gets a mutation with a guard of its own.
    for (const write of chunk.writes.slice(1)) await this.#commitCells(chunk, [write], commit);
  }

  #commitCells(chunk: Chunk, writes: readonly BufferedWrite[], commit: number): Promise<MutationAnswer> {
    const first = writes[0]!;
    return this.#step(
      "commit-secondary",
      first,
      () =>
        this.#context.store.mutate({
          table: chunk.table,
          row: chunk.row,
          guards: this.#secondaryGuards(first),
          mutations: writes.flatMap((write) => this.#commitMutations(write, commit)),
        }),
      commit,
    );
  }

  /**
   * Returns the guard on the lock of the first cell. Returns no guard if the secondaries may be
   * committed in bulk. A late mutation is then harmless, because collection keeps versions for
   * longer on a store with bulk commits (see `bulk.ts`).
   */
  #secondaryGuards(first: BufferedWrite): readonly Guard[] {
    const { store, settings, environment } = this.#context;
    const sinceAskedMs = elapsedMs(this.#askedAt!, readClocks(environment));
    if (mayGoInBulk(store.capabilities, settings.retentionMs, sinceAskedMs)) return [];
    return [lockedGuard(first.column, this.#request.start)];
  }

  /**
   * Calls `run` for each chunk and reports a failure as an event. A lock that remains is harmless:
   * a transaction that meets it reads the primary's status.
   */
  async #settleAll(
    doing: string,
    chunks: readonly Chunk[],
    run: (chunk: Chunk) => Promise<unknown>,
  ): Promise<void> {
    const answers = await Promise.allSettled(chunks.map(run));
    for (const answer of answers) {
      if (answer.status === "rejected") {
        this.#context.events.emit("backgroundFailure", { doing, error: answer.reason });
      }
    }
  }

  #step<T>(name: StepName, cell: CellAddress, run: () => Promise<T>, commit?: number): Promise<T> {
    return commitStep(this.#context, this.#request, name, cell, run, commit);
  }
}
