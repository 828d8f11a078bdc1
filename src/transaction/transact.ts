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
import { describeValue } from "../schema/index.js";
import { rowKey } from "./cell/address.js";
import { conflictCell } from "./commit/conflict.js";
import type { TransactionContext } from "./context.js";
import { CoreTransaction, type Isolation } from "./core.js";
import { deadline } from "./deadline.js";
import type { EndTurn } from "./row-turns.js";
import { Transaction } from "./transaction.js";

/** What `db.begin` takes. Everything has a default. */
export interface TransactionOptions {
  /** `"snapshot"` (default) lets write skew happen; `"serializable"` prevents it, and conflicts on reads too. */
  readonly isolation?: Isolation | undefined;
  /** Milliseconds until the transaction is given up, waiting included. Default: none. */
  readonly timeoutMs?: number | undefined;
  /** A name for messages, events and traces. */
  readonly label?: string | undefined;
  /** Gives the transaction up when aborted, before its commit point. */
  readonly signal?: AbortSignal | undefined;
}

/** What `db.transact` takes. Everything has a default. */
export interface TransactOptions extends TransactionOptions {
  /**
   * How often it is run again after an error that is `retryable`: a conflict, a start that is too old, no timestamp from the
   * coordinator, an outage of the store. Default: 100; with `timeoutMs` or `signal`, outages of the store and the coordinator do not
   * count: it goes on until then.
   */
  readonly retries?: number | undefined;
}

const defaultRetries = 100;
const noOptions: TransactOptions = Object.freeze({});
const retrying = { initialMs: 1, maximumMs: 200 };
/** After an outage: all who wait for its end would come at once. */
const waitingOut = { initialMs: 10, maximumMs: 2_000 };
const outages: ReadonlySet<string> = new Set<ErrorCode>(["STORE", "ORACLE_UNAVAILABLE", "NOT_LEADER"]);

/**
 * Runs `run` in a transaction and commits it; runs it again with a new start timestamp if it conflicts, or if the store or the
 * coordinator is away. What it did to anything but the transaction must bear being done again.
 */
export function transact<T>(
  context: TransactionContext,
  run: (tx: Transaction) => T | Promise<T>,
  options: TransactOptions = noOptions,
): Promise<T> {
  if (typeof run !== "function") {
    throw new InvalidArgumentError(
      `\`db.transact\` takes a function that gets the transaction, not ${describeValue(run)}.`,
    );
  }
  checkRetries(options.retries);
  const timeoutMs = checkTimeout(options.timeoutMs);
  // Most have neither, and do not conflict: nothing is made for what they do not need, thousands may be under way.
  if (options.signal === undefined && timeoutMs === undefined) {
    return runOnce(context, run, options).catch((error: unknown) => runAgain(context, run, options, error));
  }
  const limit = deadline(context.environment, options.signal, timeoutMs, nameOf(options));
  const limited = limit.signal === options.signal ? options : { ...options, signal: limit.signal };
  return runOnce(context, run, limited)
    .catch((error: unknown) => runAgain(context, run, limited, error))
    .finally(limit.end);
}

/** Goes on after an attempt that failed: runs it again for as long as that may help. */
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
    // An abort says that nothing was written; this is the one error after which that is not known.
    if (error instanceof CommitOutcomeUnknownError) throw error;
    if (options.signal?.aborted) throw abortError(options.signal, nameOf(options));
    if (!(error instanceof PercolatorError && error.retryable)) throw error;
    const isOutage = outages.has(error.code);
    if (!(isOutage && waitsOutages) && ++counted > retries) throw error;
    // Not while it has a turn: another process may be in the way, and nobody here should wait for that.
    await pause(context, isOutage ? waitingOut : retrying, attempt, options);
    const endTurn = await takeTurn(context, error, options);
    try {
      return await runOnce(context, run, options);
    } catch (thrown) {
      error = thrown;
    } finally {
      endTurn?.();
    }
  }
}

/** After a conflict on a cell: a turn on its row, among the transactions of this process. */
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

async function runOnce<T>(
  context: TransactionContext,
  run: (tx: Transaction) => T | Promise<T>,
  options: TransactionOptions,
): Promise<T> {
  const begun = CoreTransaction.begin(context, options);
  const core = begun instanceof Promise ? await begun : begun;
  const tx = new Transaction(core);
  try {
    const { signal } = options;
    const returned = run(tx);
    const result = await (signal === undefined ? returned : untilDeadline(returned, signal, core));
    const settling = tx.returned(isThenable(returned));
    if (settling !== undefined) await settling;
    await tx.commit();
    return result;
  } finally {
    core.rollback();
  }
}

/** Whether a function that returned this can have waited for something. */
export function isThenable(returned: unknown): boolean {
  return typeof (returned as { then?: unknown } | undefined | null)?.then === "function";
}

/** Waits for the user's function, but no longer than the deadline; the transaction is then fenced. */
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
  throw new InvalidArgumentError(`\`retries\` must be a whole number of 0 or more, not ${String(retries)}.`);
}

/** Milliseconds of a deadline, checked. */
export function checkTimeout(timeoutMs: number | undefined): number | undefined {
  if (timeoutMs === undefined || (Number.isFinite(timeoutMs) && timeoutMs > 0)) return timeoutMs;
  throw new InvalidArgumentError(`\`timeoutMs\` must be a number above 0, not ${String(timeoutMs)}.`);
}
