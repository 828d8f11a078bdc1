import { CommitOutcomeUnknownError, ConflictError, StoreError } from "../../errors/index.js";
import {
  type AtomicBatch,
  type AtomicStore,
  type BatchAnswer,
  commitTimestamp,
  equalBytes,
  type Guard,
  type Mutation,
  type RangeGuard,
  type RowMutation,
} from "../../store/index.js";
import type { CellAddress } from "../cell/address.js";
import { onePhaseGuards } from "../cell/guards.js";
import { encodeWrite } from "../cell/records.js";
import type { Hint, ObservedColumns, TransactionContext } from "../context.js";
import { stampedEntries } from "../feed/feed-writes.js";
import { noHooks } from "../steps.js";
import { conflict, explainConflict, unexplainedConflict } from "./conflict.js";
import { keptOut } from "./load-barrier.js";
import type { CommitOutcome } from "./outcome.js";
import type { ReadRow } from "./read-set.js";
import type { CommitRequest } from "./request.js";

/** How often a commit is tried again because the observer registry has changed. */
const maxRegistryChanges = 100;

const noValue = new Uint8Array(0);

/** A batch and the hints that it writes. */
interface Built {
  readonly batch: AtomicBatch;
  readonly hints: readonly Hint[];
  /**
   * Indexes into the batch's rows: the row with the safepoint's guard and the row with the
   * registry's. -1 for none.
   */
  readonly safepointRow: number;
  readonly registryRow: number;
}

/**
 * Commits in one atomic batch of the store (protocol §3.7). The batch holds guards, write records
 * and hints. The store takes the commit timestamp from its counter in the same step. No lock is
 * ever written.
 */
export function commitOnePhase(
  context: TransactionContext,
  atomic: AtomicStore,
  request: CommitRequest,
): Promise<CommitOutcome> {
  const view = request.system ? undefined : context.notifications.current();
  if (view instanceof Promise) return view.then((known) => offer(context, atomic, request, known, 1));
  return offer(context, atomic, request, view, 1);
}

/**
 * Commits the batch under the guards of the last known observer registry. `cleared` counts the
 * abandoned locks that blocked earlier attempts. A callback takes less memory than an `async`
 * function, and thousands of commits may wait here for one flush.
 */
function offer(
  context: TransactionContext,
  atomic: AtomicStore,
  request: CommitRequest,
  view: ObservedColumns | undefined,
  attempt: number,
  cleared = 0,
): Promise<CommitOutcome> {
  const refused = view === undefined ? undefined : keptOut(request, view);
  if (refused !== undefined) return offerAfterLoad(context, atomic, request, view, refused, attempt);
  const built = buildBatch(context, request, view);
  return send(context, atomic, request, built.batch).then((answer) =>
    answer.answer === "applied"
      ? { commitTimestamp: answer.timestamp, hints: built.hints }
      : offerAgain(context, atomic, request, view, built, answer, attempt, cleared),
  );
}

/**
 * Handles a batch that was not applied. If the registry has changed, refreshes it and tries again.
 * If an abandoned lock blocked the batch, resolves it and also tries again.
 */
async function offerAgain(
  context: TransactionContext,
  atomic: AtomicStore,
  request: CommitRequest,
  view: ObservedColumns | undefined,
  built: Built,
  answer: Exclude<BatchAnswer, { answer: "applied" }>,
  attempt: number,
  cleared: number,
): Promise<CommitOutcome> {
  if (answer.answer === "unknown") throw outcomeUnknown(request, answer.cause);
  if (!isRow(answer) || answer.row !== built.registryRow) {
    const refused = await refusal(context, request, built, answer);
    if (refused instanceof Error) throw refused;
    // A transaction can meet at most one lock per guard. If it meets more, other transactions are
    // adding locks as fast as this one removes them.
    if (cleared === guardsIn(built.batch)) throw unexplainedConflict(context, request, refused);
    return offer(context, atomic, request, view, attempt, cleared + 1);
  }
  if (attempt === maxRegistryChanges) throw registryNeverStill(request);
  return offer(context, atomic, request, await newerView(context, view), attempt + 1, cleared);
}

/** The registry, after the store has said that `view` is no longer current. */
async function newerView(
  { notifications }: TransactionContext,
  view: ObservedColumns | undefined,
): Promise<ObservedColumns> {
  // On a store outside of this process, this may be the same copy.
  const fresh = await notifications.fresh();
  return fresh === view ? notifications.reload() : fresh;
}

function send(
  context: TransactionContext,
  atomic: AtomicStore,
  { start, label, signal, company }: CommitRequest,
  batch: AtomicBatch,
): Promise<BatchAnswer> {
  const options = signal === undefined && company === undefined ? undefined : { signal, company };
  if (context.hooks === noHooks) return atomic.commit(batch, options);
  return context.hooks.step("one-phase-commit", { startTimestamp: start, label }, () =>
    atomic.commit(batch, options),
  );
}

/**
 * Tries again under the current registry, if a bulk load kept the transaction out under an older
 * one: the load may be published by now.
 */
async function offerAfterLoad(
  context: TransactionContext,
  atomic: AtomicStore,
  request: CommitRequest,
  view: ObservedColumns | undefined,
  refused: Error,
  attempt: number,
): Promise<CommitOutcome> {
  const newest = await context.notifications.reload();
  if (newest === view || attempt === maxRegistryChanges) throw refused;
  return offer(context, atomic, request, newest, attempt + 1);
}

function registryNeverStill({ start }: CommitRequest): StoreError {
  return new StoreError(
    `The registry of observers changed ${maxRegistryChanges} times while the transaction at ${start} was ` +
      "committing. Nothing was written. Run it again.",
    { retryable: true },
  );
}

type Rejected = Extract<BatchAnswer, { answer: "rejected" }>;
type RejectedRow = Extract<Rejected, { row: number }>;

function isRow(answer: Rejected): answer is RejectedRow {
  return "row" in answer;
}

function guardsIn({ rows }: AtomicBatch): number {
  return rows.reduce((sum, { guards }) => sum + guards.length, 0);
}

/**
 * The error that explains why the store refused a batch. Returns the cell instead if only an
 * abandoned lock blocked the batch and is now resolved.
 */
async function refusal(
  context: TransactionContext,
  request: CommitRequest,
  built: Built,
  answer: Rejected,
): Promise<Error | CellAddress> {
  if (!isRow(answer)) {
    const range = built.batch.ranges?.[answer.range];
    return new ConflictError(
      `The serializable transaction that started at ${request.start} read a range of "${range?.table}", and ` +
        "another transaction has since written in it. Nothing was written. Run it again from the start.",
      { startTimestamp: request.start, ...(range === undefined ? {} : { table: range.table }) },
    );
  }
  if (answer.row === built.safepointRow) {
    try {
      await context.safepoint.checkNewest(request.start);
    } catch (error) {
      if (error instanceof Error) return error;
    }
    return conflict(
      context,
      request,
      { table: "", row: noValue, column: noValue },
      undefined,
      "moved the safepoint",
    );
  }
  const mutation = built.batch.rows[answer.row];
  const guard = mutation?.guards[answer.guard];
  if (mutation === undefined || guard === undefined) {
    return new StoreError(
      `The store rejected a guard that the transaction at ${request.start} did not set. This is a fault of the store.`,
    );
  }
  const cell = { table: mutation.table, row: mutation.row, column: guard.column };
  return (await explainConflict(context, request, cell, undefined)) ?? cell;
}

function outcomeUnknown(request: CommitRequest, cause: unknown): CommitOutcomeUnknownError {
  const reason = cause instanceof Error ? `: ${cause.message.replace(/\.$/, "")}` : "";
  return new CommitOutcomeUnknownError(
    `The store did not say whether the transaction that started at ${request.start} committed${reason}. Read the cells that it ` +
      "would have written before you repeat it.",
    { cause },
  );
}

function buildBatch(
  context: TransactionContext,
  request: CommitRequest,
  view: ObservedColumns | undefined,
): Built {
  const rows = new RowBuilder(context.store.capabilities.mutationCells);
  const { writes, start } = request;
  // By index, because every commit runs this loop and an iterator allocates on each step.
  let guards: readonly Guard[] = [];
  for (let i = 0; i < writes.length; i++) {
    const write = writes[i]!;
    const { column, value } = write;
    const kind = value === undefined ? "delete" : "put";
    const record = encodeWrite({ start, kind, onePhase: true, value });
    const put: Mutation = { type: "put", column, part: "write", timestamp: commitTimestamp, value: record };
    // Cells of one column share their guards. A transaction often writes one column of many rows.
    if (guards[0]?.column !== column) guards = onePhaseGuards(column, start);
    rows.add(write, guards, [put]);
  }
  const hints = hintsOf(request, view);
  for (let i = 0; i < hints.length; i++) {
    const { address } = hints[i]!;
    rows.add(address, [], renewHint(address.column));
  }
  if (view?.feeds !== undefined) {
    const { mutationCells } = context.store.capabilities;
    for (const entry of stampedEntries(view.feeds, request, mutationCells)) rows.append(entry);
  }
  const reads = request.reads;
  if (reads !== undefined) for (const read of reads.rows()) addReadRow(rows, read, request.start);
  for (let i = 0; i < request.extras.length; i++) rows.append(request.extras[i]!);
  const safepointRow = rows.append(context.safepoint.guard(request.start));
  const registryRow = view === undefined ? -1 : rows.append(view.guards);
  const ranges = reads === undefined ? undefined : rangeGuards(request);
  return { batch: { rows: rows.built, ranges }, hints, safepointRow, registryRow };
}

function hintsOf(request: CommitRequest, view: ObservedColumns | undefined): readonly Hint[] {
  const { hints, writes, signals } = request;
  if (view === undefined) return hints;
  let found: Hint[] | undefined;
  for (let i = 0; i < writes.length; i++) {
    const write = writes[i]!;
    if (!view.observed(write.table, write.column)) continue;
    found ??= [...hints];
    found.push(...view.hints(write));
  }
  for (let i = 0; i < signals.length; i++) {
    found ??= [...hints];
    found.push(...view.hints(signals[i]!));
  }
  return found ?? hints;
}

/**
 * Timestamp of a hint's crash record, which counts the processes that ended while they ran the
 * observer on the hint's cell. The timestamp lies below every commit timestamp, so that the
 * deletion of a handled hint deletes the record too.
 */
export const crashRecordTimestamp = 1;

/**
 * Writes a hint and deletes the older hints of its cell, except the crash record. The new hint
 * replaces them: a run for the new hint starts at or above its commit timestamp, and an older run
 * does not delete the new hint. Correct only in a batch, because the deletion then happens only if
 * the transaction commits.
 */
function renewHint(column: Uint8Array): Mutation[] {
  return [
    { type: "delete", column, part: "write", from: crashRecordTimestamp + 1, to: Number.POSITIVE_INFINITY },
    putHint(column, commitTimestamp),
  ];
}

/**
 * A hint's record. It has the form of a write record without a transaction: its start timestamp is
 * 0.
 */
export function putHint(column: Uint8Array, timestamp: number, value: Uint8Array = noValue): Mutation {
  return {
    type: "put",
    column,
    part: "write",
    timestamp,
    value: encodeWrite({ start: 0, kind: "put", onePhase: true, value }),
  };
}

/**
 * Turns point reads into guards on their row. Column ranges become range guards in {@link
 * rangeGuards}.
 */
function addReadRow(rows: RowBuilder, read: ReadRow, start: number): void {
  for (const column of read.columns) {
    if ("exact" in column) {
      const cell = { table: read.table, row: read.row, column: column.exact };
      rows.add(cell, onePhaseGuards(column.exact, start), []);
    }
  }
}

function rangeGuards(request: CommitRequest): readonly RangeGuard[] {
  const absent = [
    { part: "lock", from: 0, to: Number.POSITIVE_INFINITY },
    { part: "write", from: request.start + 1, to: Number.POSITIVE_INFINITY },
  ] as const;
  const ranges: RangeGuard[] = request.reads!.ranges.map((range) => ({ ...range, absent }));
  for (const read of request.reads!.rows()) {
    const columns = read.columns.filter((column) => !("exact" in column));
    if (columns.length === 0) continue;
    ranges.push({
      table: read.table,
      start: read.row,
      end: Buffer.concat([read.row, Buffer.of(0)]),
      columns,
      absent,
    });
  }
  return ranges;
}

/**
 * Collects guards and mutations by row. It divides them into as many mutations as the store's limit
 * requires. It joins only consecutive entries of one row. The writes are sorted, so a row rarely
 * appears twice. If it does, the batch only gets one more mutation.
 */
class RowBuilder {
  readonly built: RowMutation[] = [];
  readonly #most: number;
  /** Whether the last mutation in `built` may still grow. */
  #grows = false;
  /** The arrays of the last mutation, if they are its own. Until it grows, they are the caller's. */
  #own: { readonly guards: Guard[]; readonly mutations: Mutation[] } | undefined;

  constructor(most: number) {
    this.#most = most;
  }

  /** Adds a cell's guards and mutations. It does not change the arrays. */
  add({ table, row }: CellAddress, guards: readonly Guard[], mutations: readonly Mutation[]): void {
    const last = this.#grows ? this.built[this.built.length - 1]! : undefined;
    if (last !== undefined && last.table === table && equalBytes(last.row, row)) {
      const size = last.guards.length + last.mutations.length + guards.length + mutations.length;
      if (size <= this.#most) {
        this.#join(last, guards, mutations);
        return;
      }
    }
    this.append({ table, row, guards, mutations });
    this.#grows = true;
  }

  #join(last: RowMutation, guards: readonly Guard[], mutations: readonly Mutation[]): void {
    if (this.#own === undefined) {
      this.#own = { guards: [...last.guards], mutations: [...last.mutations] };
      this.built[this.built.length - 1] = { table: last.table, row: last.row, ...this.#own };
    }
    this.#own.guards.push(...guards);
    this.#own.mutations.push(...mutations);
  }

  /** Adds a mutation unchanged and returns its index. */
  append(mutation: RowMutation): number {
    this.#grows = false;
    this.#own = undefined;
    return this.built.push(mutation) - 1;
  }
}
