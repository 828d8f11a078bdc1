import { backoffDelay, sleep, throwIfAborted } from "../../environment/index.js";
import { StoreError } from "../../errors/index.js";
import type { Hint, ObservedColumns, TransactionContext } from "../context.js";
import { checkLoads } from "./load-barrier.js";
import { putHint } from "./one-phase.js";
import type { CommitRequest } from "./request.js";

/** Attempts to write a hint before the transaction is rolled back. */
const maxRepeats = 5;
const repeating = { initialMs: 5, maximumMs: 200 };

/**
 * The hints for all written cells and notified signals, by a fresh view of the registry. The view is
 * undefined for a system transaction.
 */
export async function findHints(
  context: TransactionContext,
  request: CommitRequest,
  view: ObservedColumns | undefined,
): Promise<readonly Hint[]> {
  if (view === undefined) return request.hints;
  await checkLoads(context, request, view);
  const hints = [...request.hints];
  for (const cell of [...request.writes, ...request.signals]) {
    if (view.observed(cell.table, cell.column)) hints.push(...view.hints(cell));
  }
  return hints;
}

/**
 * Writes hints at a commit timestamp and waits until the store has acknowledged all. Safe to
 * repeat.
 */
export async function putHints(
  context: TransactionContext,
  request: CommitRequest,
  hints: readonly Hint[],
  commit: number,
): Promise<void> {
  await Promise.all(hints.map((hint) => putOneHint(context, request, hint, commit)));
}

async function putOneHint(
  context: TransactionContext,
  request: CommitRequest,
  hint: Hint,
  commit: number,
): Promise<void> {
  const { table, row, column } = hint.address;
  const info = { startTimestamp: request.start, commitTimestamp: commit, label: request.label };
  const doing = `Committing the transaction that started at ${request.start}`;
  for (let repeat = 1; repeat <= maxRepeats; repeat++) {
    throwIfAborted(request.signal, doing);
    const answer = await context.hooks.step("hints", info, () =>
      context.store.mutate({ table, row, guards: [], mutations: [putHint(column, commit)] }),
    );
    if (answer === "applied") return;
    const waitMs = backoffDelay(context.environment, repeating, repeat);
    await sleep(context.environment, waitMs, request.signal, doing);
  }
  throw new StoreError(
    `The store did not acknowledge a hint for the observer "${hint.observer}", so the transaction at ${request.start} is ` +
      "rolled back. Run it again.",
    { retryable: true },
  );
}
