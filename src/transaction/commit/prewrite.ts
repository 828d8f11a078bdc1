import { backoffDelay, sleep, throwIfAborted } from "../../environment/index.js";
import type { ConflictError } from "../../errors/index.js";
import type { Mutation, MutationAnswer, RowMutation } from "../../store/index.js";
import type { BufferedWrite } from "../buffer.js";
import type { CellAddress } from "../cell/address.js";
import { prewriteGuards } from "../cell/guards.js";
import { encodeLock } from "../cell/records.js";
import type { TransactionContext } from "../context.js";
import { readPrimary } from "../lock/primary.js";
import { lockedValue } from "../lock/roll-forward.js";
import type { Chunk } from "./chunks.js";
import { commitStep } from "./commit-step.js";
import { explainConflict, unexplainedConflict } from "./conflict.js";
import type { CommitRequest } from "./request.js";

/**
 * Maximum number of times that a prewrite is sent while the store answers `unknown`. After that,
 * the transaction is rolled back at its primary.
 */
const maxRepeats = 5;
const repeating = { initialMs: 5, maximumMs: 200 };

/**
 * Maximum number of prewrites of one transaction that are under way. A larger transaction then
 * leaves room for others in the store's queue of requests, and stops soon after a conflict.
 */
const maxAtOnce = 256;

/** The answer to a prewrite, or the conflict because of which the store refused it. */
export type Prewritten = "applied" | "unknown" | ConflictError;

/**
 * Prewrites chunks in parallel, in their order and a limited number at a time. Rows next to each
 * other are therefore sent together. After a prewrite that was not applied, sends no more. Calls
 * `onSend` with each chunk that it sends, and returns their answers in the same order.
 */
export async function prewriteAll(
  context: TransactionContext,
  request: CommitRequest,
  primary: CellAddress,
  chunks: readonly Chunk[],
  onSend: (chunk: Chunk) => void,
): Promise<readonly PromiseSettledResult<Prewritten>[]> {
  const answers: PromiseSettledResult<Prewritten>[] = [];
  let next = 0;
  let isEnding = false;
  const send = async () => {
    while (next < chunks.length && !isEnding) {
      const index = next++;
      onSend(chunks[index]!);
      const [answer] = await Promise.allSettled([prewrite(context, request, primary, chunks[index]!)]);
      answers[index] = answer;
      isEnding ||= answer.status === "rejected" || answer.value !== "applied";
    }
  };
  await Promise.all(Array.from({ length: Math.min(maxAtOnce, chunks.length) }, send));
  return answers;
}

/**
 * Locks the cells of a chunk (protocol §3.3, step 1). Returns `applied`, the conflict, or
 * `unknown`. If only abandoned locks blocked the chunk, this function resolves them and sends the
 * prewrite once more. The guards stay the same, so the second attempt is as safe as the first.
 */
export async function prewrite(
  context: TransactionContext,
  request: CommitRequest,
  primary: CellAddress,
  chunk: Chunk,
): Promise<Prewritten> {
  const first = chunk.writes[0]!;
  const { signal, start } = request;
  const doing = `Committing the transaction that started at ${start}`;
  let wasCleared = false;
  for (let repeat = 1; ; ) {
    throwIfAborted(signal, doing);
    // Built for each attempt, so that the lock carries the current time.
    const mutation = prewriteMutation(context, request, primary, chunk);
    const answer = await commitStep(context, request, "prewrite", first, () =>
      sendPrewrite(context, request, mutation),
    );
    if (answer === "applied") return answer;
    if (answer === "rejected") {
      // If the store did apply an earlier attempt, the repeated prewrite meets the transaction's
      // own lock.
      if (await ownLockStands(context, request, first)) return "applied";
      const error = await explainRefusal(context, request, chunk);
      if (error !== undefined) return error;
      if (wasCleared) return unexplainedConflict(context, request, first);
      wasCleared = true;
    } else {
      if (repeat >= maxRepeats) return answer;
      const waitMs = backoffDelay(context.environment, repeating, repeat++);
      await sleep(context.environment, waitMs, signal, doing);
    }
  }
}

/**
 * Sends a prewrite together with a check of the safepoint. If the safepoint has passed the
 * transaction's start, collection may have dropped a delete marker or the transaction's own
 * tombstone. The prewrite would then succeed although it must not. A store with atomic batches
 * checks the safepoint in the same step. On other stores the check comes first, and collection
 * waits for prewrites under way. Later steps need no check, because collection resolves all locks
 * below the safepoint before it drops anything.
 */
async function sendPrewrite(
  { store, safepoint }: TransactionContext,
  { start }: CommitRequest,
  mutation: RowMutation,
): Promise<MutationAnswer> {
  if (store.atomic === undefined) {
    await safepoint.check(start);
    return store.mutate(mutation);
  }
  const answer = await store.atomic.commit({ rows: [mutation, safepoint.guard(start)] });
  const isStale = answer.answer === "rejected" && "row" in answer && answer.row === 1;
  if (isStale) await safepoint.checkNewest(start);
  return answer.answer;
}

function prewriteMutation(
  context: TransactionContext,
  request: CommitRequest,
  primary: CellAddress,
  { table, row, writes }: Chunk,
): RowMutation {
  return {
    table,
    row,
    guards: writes.flatMap((write) => prewriteGuards(write.column, request.start)),
    mutations: writes.flatMap((write, index) => {
      const others = index === 0 ? writes.slice(1).map((other) => other.column) : [];
      return cellMutations(context, request, primary, write, others);
    }),
  };
}

function cellMutations(
  { liveness, environment, settings, store }: TransactionContext,
  { start }: CommitRequest,
  primary: CellAddress,
  write: BufferedWrite,
  others: readonly Uint8Array[],
): readonly Mutation[] {
  const { kind, value } = lockedValue(store, write);
  const lock = encodeLock({
    minCommit: start + 1,
    kind,
    primary,
    session: liveness.session,
    refreshedAt: environment.now(),
    ttlMs: settings.lockTtlMs,
    value,
    others,
  });
  const { column } = write;
  const mutations: Mutation[] = [{ type: "put", column, part: "lock", timestamp: start, value: lock }];
  if (value === undefined && write.value !== undefined)
    mutations.push({ type: "put", column, part: "data", timestamp: start, value: write.value });
  return mutations;
}

async function ownLockStands(
  { store }: TransactionContext,
  { start }: CommitRequest,
  cell: CellAddress,
): Promise<boolean> {
  const found = await readPrimary(store, cell, start);
  return found.state === "locked";
}

/**
 * The conflict that explains why a chunk was refused. Undefined if only abandoned locks blocked it
 * and are now resolved.
 */
async function explainRefusal(
  context: TransactionContext,
  request: CommitRequest,
  chunk: Chunk,
): Promise<ConflictError | undefined> {
  for (const write of chunk.writes) {
    const error = await explainConflict(context, request, write, request.start);
    if (error !== undefined) return error;
  }
  return undefined;
}
