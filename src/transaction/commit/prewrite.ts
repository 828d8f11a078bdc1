import { backoffDelay, sleep } from "../../environment/index.js";
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

/** How often a prewrite whose answer was `unknown` is sent again before the transaction is decided at its primary. */
const maxRepeats = 5;
const repeating = { initialMs: 5, maximumMs: 200 };

/**
 * Locks the cells of a chunk (protocol §3.3, step 1): `applied`, why not, or `unknown`. A lock that was left behind is dealt
 * with; where that leaves nobody in the way, the prewrite is sent once more, under the same guards: what they let through
 * is as good as if it had been sent only then.
 */
export async function prewrite(
  context: TransactionContext,
  request: CommitRequest,
  primary: CellAddress,
  chunk: Chunk,
): Promise<"applied" | "unknown" | ConflictError> {
  const first = chunk.writes[0]!;
  let wasCleared = false;
  for (let repeat = 1; ; ) {
    // Anew each time: a lock must not be as old as the first try.
    const mutation = prewriteMutation(context, request, primary, chunk);
    const answer = await commitStep(context, request, "prewrite", first, () =>
      sendPrewrite(context, request, mutation),
    );
    if (answer === "applied") return answer;
    if (answer === "rejected") {
      // A repeated request meets its own lock where the first one was applied after all.
      if (await ownLockStands(context, request, first)) return "applied";
      const error = await explainRefusal(context, request, chunk);
      if (error !== undefined) return error;
      if (wasCleared) return unexplainedConflict(context, request, first);
      wasCleared = true;
    } else {
      if (repeat >= maxRepeats) return answer;
      await sleep(context.environment, backoffDelay(context.environment, repeating, repeat++));
    }
  }
}

/**
 * A prewrite that arrives after collection has passed its start could miss a delete marker, or its own tombstone, that
 * was dropped. Where the store can, the safepoint is checked in the same step; elsewhere before it is sent, and
 * collection waits for what is on its way. Later steps need no check: collection takes the locks first.
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
  if (answer.answer === "rejected" && "row" in answer && answer.row === 1) await safepoint.check(start);
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

/** The cell of a refused chunk at which somebody stands; undefined where only what was left behind stood there, and is gone. */
async function explainRefusal(
  context: TransactionContext,
  request: CommitRequest,
  chunk: Chunk,
): Promise<ConflictError | undefined> {
  for (const write of chunk.writes) {
    const error = await explainConflict(context, request, write);
    if (error !== undefined) return error;
  }
  return undefined;
}
