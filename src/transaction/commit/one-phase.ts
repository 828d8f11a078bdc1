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
import { noHooks } from "../steps.js";
import { conflict, explainConflict, unexplainedConflict } from "./conflict.js";
import type { CommitOutcome } from "./outcome.js";
import type { ReadRow } from "./read-set.js";
import type { CommitRequest } from "./request.js";

/** How often a commit is offered again because the registry had changed meanwhile. */
const maxRegistryChanges = 100;

const noValue = new Uint8Array(0);

/** A batch, and the hints that it writes. */
interface Built {
  readonly batch: AtomicBatch;
  readonly hints: readonly Hint[];
  /** The rows of the batch whose guards are the safepoint's and the registry's; -1 for none. */
  readonly safepointRow: number;
  readonly registryRow: number;
}

/**
 * Commits in one atomic batch of the store: guards, write records and hints together, at a commit timestamp that the
 * store takes from its counter in the same step (protocol §3.7). No lock is ever written.
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
 * Offers the batch to the store as the registry was when last seen. Small: thousands may wait here for one flush. `cleared`: locks
 * that were left behind, and dealt with, after each of which it is offered again.
 */
async function offer(
  context: TransactionContext,
  atomic: AtomicStore,
  request: CommitRequest,
  view: ObservedColumns | undefined,
  attempt: number,
  cleared = 0,
): Promise<CommitOutcome> {
  const built = buildBatch(context, request, view);
  const answer = await send(context, atomic, request, built.batch);
  if (answer.answer === "applied") return { commitTimestamp: answer.timestamp, hints: built.hints };
  if (answer.answer === "unknown") throw outcomeUnknown(request, answer.cause);
  if (!isRow(answer) || answer.row !== built.registryRow) {
    const refused = await refusal(context, request, built, answer);
    if (refused instanceof Error) throw refused;
    // So many locks can be in its way; where there are more, others set them as fast as they are taken away.
    if (cleared === guardsIn(built.batch)) throw unexplainedConflict(context, request, refused);
    return offer(context, atomic, request, view, attempt, cleared + 1);
  }
  if (attempt === maxRegistryChanges) throw registryNeverStill(request);
  return offer(context, atomic, request, await context.notifications.fresh(), attempt + 1, cleared);
}

function send(
  context: TransactionContext,
  atomic: AtomicStore,
  { start, label, signal }: CommitRequest,
  batch: AtomicBatch,
): Promise<BatchAnswer> {
  const options = signal === undefined ? undefined : { signal };
  if (context.hooks === noHooks) return atomic.commit(batch, options);
  return context.hooks.step("one-phase-commit", { startTimestamp: start, label }, () =>
    atomic.commit(batch, options),
  );
}

function registryNeverStill({ start }: CommitRequest): StoreError {
  return new StoreError(
    `The registry of observers changed ${maxRegistryChanges} times while the transaction at ${start} was to ` +
      "be committed. Nothing was written.",
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

/** Why a batch was refused; the cell where only a lock that was left behind stood in its way, and is gone. */
async function refusal(
  context: TransactionContext,
  request: CommitRequest,
  built: Built,
  answer: Rejected,
): Promise<Error | CellAddress> {
  if (!isRow(answer)) {
    const range = built.batch.ranges?.[answer.range];
    return new ConflictError(
      `The serializable transaction that started at ${request.start} read a range of "${range?.table}" in which ` +
        "another transaction has written since. Nothing was written; run it again from the start.",
      { startTimestamp: request.start, ...(range === undefined ? {} : { table: range.table }) },
    );
  }
  if (answer.row === built.safepointRow) {
    try {
      await context.safepoint.check(request.start);
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
    return new StoreError(`The store rejected a guard that the transaction at ${request.start} did not set.`);
  }
  const cell = { table: mutation.table, row: mutation.row, column: guard.column };
  return (await explainConflict(context, request, cell)) ?? cell;
}

function outcomeUnknown(request: CommitRequest, cause: unknown): CommitOutcomeUnknownError {
  const reason = cause instanceof Error ? `: ${cause.message.replace(/\.$/, "")}` : "";
  return new CommitOutcomeUnknownError(
    `The store did not say whether the transaction that started at ${request.start} committed${reason}. Read what it would ` +
      "have written before doing it again.",
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
  // By index: this is done for every commit, and an iterator allocates with each step.
  for (let i = 0; i < writes.length; i++) {
    const write = writes[i]!;
    const { column, value } = write;
    const kind = value === undefined ? "delete" : "put";
    const record = encodeWrite({ start, kind, onePhase: true, value });
    const put: Mutation = { type: "put", column, part: "write", timestamp: commitTimestamp, value: record };
    rows.add(write, onePhaseGuards(column, start), [put]);
  }
  const hints = hintsOf(request, view);
  for (const hint of hints) rows.add(hint.address, [], renewHint(hint.address.column));
  const reads = request.reads;
  if (reads !== undefined) for (const read of reads.rows()) addReadRow(rows, read, request.start);
  for (const extra of request.extras) rows.append(extra);
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
 * Where a hint keeps what outlives its versions: how many processes ended while they ran the observer on its cell. Below every
 * commit timestamp, so that the deletion of a hint that is done with deletes the record too.
 */
export const crashRecordTimestamp = 1;

/**
 * A hint in place of the older ones of its cell. They say nothing that it does not: whoever runs for it starts at or above its
 * commit, and who started below leaves it standing. Only in a batch, where the new one cannot be rolled back. The crash record stays.
 */
function renewHint(column: Uint8Array): Mutation[] {
  return [
    { type: "delete", column, part: "write", from: crashRecordTimestamp + 1, to: Number.POSITIVE_INFINITY },
    putHint(column, commitTimestamp),
  ];
}

/** The record of a hint: it stands as a write record of nobody. */
export function putHint(column: Uint8Array, timestamp: number, value: Uint8Array = noValue): Mutation {
  return {
    type: "put",
    column,
    part: "write",
    timestamp,
    value: encodeWrite({ start: 0, kind: "put", onePhase: true, value }),
  };
}

/** Point reads become guards on their row; what was read by a range of columns becomes a range guard. */
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
 * Gathers what concerns one row into one mutation, or into as many as the store takes. Only what comes one after the
 * other is put together: writes come sorted, and a row that comes again costs no more than a mutation of its own.
 */
class RowBuilder {
  readonly built: RowMutation[] = [];
  readonly #most: number;
  /** The last of those built, while more may be put to it. */
  #open: { readonly guards: Guard[]; readonly mutations: Mutation[] } | undefined;

  constructor(most: number) {
    this.#most = most;
  }

  add({ table, row }: CellAddress, guards: Guard[], mutations: Mutation[]): void {
    const last = this.built.at(-1);
    if (this.#open !== undefined && last?.table === table && equalBytes(last.row, row)) {
      const size = last.guards.length + last.mutations.length + guards.length + mutations.length;
      if (size <= this.#most) {
        this.#open.guards.push(...guards);
        this.#open.mutations.push(...mutations);
        return;
      }
    }
    this.#open = { guards, mutations };
    this.built.push({ table, row, guards, mutations });
  }

  /** Adds a mutation as it is; gives its place. */
  append(mutation: RowMutation): number {
    this.#open = undefined;
    return this.built.push(mutation) - 1;
  }
}
