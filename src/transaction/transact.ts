import {
  abortError,
  type Backoff,
  backoffDelay,
  onAbort,
  sleep,
  unlessAborted,
} from "../environment/index.js";
import {
  CommitOutcomeUnknownError,
  ConflictError,
  type ErrorCode,
  InvalidArgumentError,
  PercolatorError,
} from "../errors/index.js";
import { describeNonFunction, describeValue } from "../schema/index.js";
import { rowKey } from "./cell/address.js";
import { conflictCell } from "./commit/conflict.js";
import type { TransactionContext } from "./context.js";
import { CoreTransaction, type Isolation } from "./core.js";
import { deadline } from "./deadline.js";
import type { EndTurn } from "./row-turns.js";
import { Transaction } from "./transaction.js";

/** Options of `db.begin`. Each has a default. */
export interface TransactionOptions {
  /**
   * Isolation level. Default: `"snapshot"`, which allows write skew. `"serializable"` prevents
   * write skew. It also reports a conflict if another transaction changed what this one read.
   */
  readonly isolation?: Isolation | undefined;
  /**
   * Deadline in milliseconds from the start, including all waits. When it passes before the commit
   * point, the transaction is rolled back and its calls reject with a `TimeoutError`. After that
   * point, the commit goes on. Default: no deadline.
   */
  readonly timeoutMs?: number | undefined;
  /** A name for messages, events and traces. Default: none. */
  readonly label?: string | undefined;
  /** Aborting this signal before the commit point rolls the transaction back. Default: none. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Options of `db.transact`. Each has a default.
 * @example
 * await db.transact((tx) => tx.set(accounts.balance, "alice", 10), { timeoutMs: 5_000 });
 */
export interface TransactOptions extends TransactionOptions {
  /**
   * How many times the transaction is run again after a `retryable` error: a conflict, a start
   * timestamp that is too old, no timestamp from the coordinator, or an outage of the store.
   * Default: 100. With `timeoutMs` or `signal` and no `retries`, outages of the store and the
   * coordinator do not count: `db.transact` retries until the deadline or the abort.
   */
  readonly retries?: number | undefined;
}

const defaultRetries = 100;
const noOptions: TransactOptions = Object.freeze({});
const retrying = { initialMs: 1, maximumMs: 200 };
/**
 * After an outage, the first delay is longer than after a conflict. Otherwise all waiting
 * transactions would return to the store within a few milliseconds.
 */
const waitingOut = { initialMs: 10, maximumMs: 2_000 };
const outages: ReadonlySet<string> = new Set<ErrorCode>(["STORE", "ORACLE_UNAVAILABLE", "NOT_LEADER"]);

/**
 * Runs `run` in a transaction and commits it: the retry loop around {@link CoreTransaction}. After
 * a conflict or an outage, it runs `run` again with a new start timestamp. Effects of `run` outside
 * the transaction must therefore be safe to repeat.
 */
export function transact<T>(
  context: TransactionContext,
  run: (tx: Transaction) => T | Promise<T>,
  options: TransactOptions = noOptions,
): Promise<T> {
  const given = describeNonFunction(run);
  if (given !== undefined) {
    throw new InvalidArgumentError(
      `\`db.transact\` takes a function that gets the transaction, not ${given}.`,
    );
  }
  checkRetries(options.retries);
  const timeoutMs = checkTimeout(options.timeoutMs);
  // Most transactions have no deadline and no conflict. Thousands may be running, so this path
  // allocates nothing for a deadline or a retry.
  if (options.signal === undefined && timeoutMs === undefined) return runOnce(context, run, options, true);
  const limit = deadline(context.environment, options.signal, timeoutMs, nameOf(options));
  const limited = limit.signal === options.signal ? options : { ...options, signal: limit.signal };
  return runOnce(context, run, limited, true).finally(limit.end);
}

/**
 * Retries `run` after a failed attempt. Throws the failure if a retry cannot help or the retries
 * are used up.
 */
async function runAgain<T>(
  context: TransactionContext,
  run: (tx: Transaction) => T | Promise<T>,
  options: TransactOptions,
  failure: unknown,
): Promise<T> {
  const { retries = defaultRetries } = options;
  const waitsOutages = options.retries === undefined && options.signal !== undefined;
  let error = failure;
  let counted = 0;
  for (let attempt = 1; ; attempt++) {
    // An abort error says that nothing was written. A `CommitOutcomeUnknownError` says that
    // something may have been written, so it is checked first.
    if (error instanceof CommitOutcomeUnknownError) throw error;
    if (options.signal?.aborted) throw abortError(options.signal, nameOf(options));
    if (!(error instanceof PercolatorError && error.retryable)) throw error;
    const isOutage = outages.has(error.code);
    if (!(isOutage && waitsOutages) && ++counted > retries) throw error;
    // Another process may hold the row, so the transaction pauses. It takes its turn only after the
    // pause, because this process's other transactions on the row wait while the turn lasts.
    await pause(context, isOutage ? waitingOut : retrying, attempt, options);
    const endTurn = await takeTurn(context, error, options);
    try {
      return await runOnce(context, run, options, false);
    } catch (thrown) {
      error = thrown;
    } finally {
      endTurn?.();
    }
  }
}

/** After a conflict on a cell, waits for a turn on its row among this process's transactions. */
async function takeTurn(
  { turns }: TransactionContext,
  error: PercolatorError,
  { signal }: TransactOptions,
): Promise<EndTurn | undefined> {
  const cell = error instanceof ConflictError ? conflictCell(error) : undefined;
  if (cell === undefined) return undefined;
  return await turns.take(rowKey(cell.table, cell.row), signal);
}

function nameOf({ label }: TransactionOptions): string {
  return label === undefined ? "The transaction" : `The transaction "${label}"`;
}

/**
 * Runs and commits once. `retries`: whether to call {@link runAgain} after a failure. That takes less
 * memory than a promise and a closure for each transaction that might fail.
 */
async function runOnce<T>(
  context: TransactionContext,
  run: (tx: Transaction) => T | Promise<T>,
  options: TransactOptions,
  retries: boolean,
): Promise<T> {
  let core: CoreTransaction | undefined;
  try {
    const begun = CoreTransaction.begin(context, options);
    core = begun instanceof Promise ? await begun : begun;
    const tx = new Transaction(core);
    const { signal } = options;
    const returned = run(tx);
    const result = await (signal === undefined ? returned : untilDeadline(returned, signal, core));
    const settling = tx.returned(isThenable(returned));
    if (settling !== undefined) await settling;
    await tx.commit();
    return result;
  } catch (error) {
    core?.rollback(error);
    if (!retries) throw error;
    return await runAgain(context, run, options, error);
  }
}

/** Whether a function returned a promise. If so, it may have waited for something. */
export function isThenable(returned: unknown): returned is PromiseLike<unknown> {
  return typeof (returned as { then?: unknown } | undefined | null)?.then === "function";
}

/** Waits for the user's function until the deadline. At the deadline, it fences the transaction. */
function untilDeadline<T>(result: T | Promise<T>, signal: AbortSignal, core: CoreTransaction): Promise<T> {
  const doing = `The transaction that started at ${core.startTimestamp}`;
  const fence = () => core.fence(abortError(signal, doing));
  if (signal.aborted) fence();
  const stopListening = onAbort(signal, fence);
  return unlessAborted(Promise.resolve(result), signal, doing).finally(stopListening);
}

async function pause(
  { environment }: TransactionContext,
  backoff: Backoff,
  attempt: number,
  options: TransactionOptions,
): Promise<void> {
  try {
    await sleep(environment, backoffDelay(environment, backoff, attempt), options.signal);
  } catch {
    throw abortError(options.signal!, nameOf(options));
  }
}

function checkRetries(retries: number | undefined): void {
  if (retries === undefined || (Number.isInteger(retries) && retries >= 0)) return;
  throw new InvalidArgumentError(
    `\`retries\` must be a whole number of 0 or more, not ${describeValue(retries)}.`,
  );
}

/** Checks a deadline in milliseconds: a finite number above 0, or undefined. */
export function checkTimeout(timeoutMs: number | undefined): number | undefined {
  if (timeoutMs === undefined || (Number.isFinite(timeoutMs) && timeoutMs > 0)) return timeoutMs;
  throw new InvalidArgumentError(`\`timeoutMs\` must be a number above 0, not ${describeValue(timeoutMs)}.`);
}
