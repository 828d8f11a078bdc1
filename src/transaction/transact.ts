import { backoffDelay, sleep } from "../environment/index.js";
import {
  abortError,
  CommitOutcomeUnknownError,
  InvalidArgumentError,
  PercolatorError,
} from "../errors/index.js";
import type { TransactionContext } from "./context.js";
import { CoreTransaction, type Isolation } from "./core.js";
import { deadline } from "./deadline.js";
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
  /** How often a transaction that conflicted is run again. Default: 100. */
  readonly retries?: number | undefined;
}

const defaultRetries = 100;
const retrying = { initialMs: 1, maximumMs: 200 };

/**
 * Runs `run` in a transaction and commits it; runs it again with a new start timestamp where it conflicts. What it
 * did to anything but the transaction must bear being done again.
 */
export async function transact<T>(
  context: TransactionContext,
  run: (tx: Transaction) => T | Promise<T>,
  options: TransactOptions = {},
): Promise<T> {
  const retries = checkRetries(options.retries);
  const name = options.label === undefined ? "The transaction" : `The transaction "${options.label}"`;
  const limit = deadline(context.environment, options.signal, checkTimeout(options.timeoutMs), name);
  const limited = limit.signal === options.signal ? options : { ...options, signal: limit.signal };
  try {
    for (let attempt = 1; ; attempt++) {
      try {
        return await runOnce(context, run, limited);
      } catch (error) {
        // An abort says that nothing was written; this is the one error after which that is not known.
        if (error instanceof CommitOutcomeUnknownError) throw error;
        if (limit.signal?.aborted) throw abortError(limit.signal, name);
        if (!(error instanceof PercolatorError && error.retryable) || attempt > retries) throw error;
        await pause(context, attempt, limit.signal, name);
      }
    }
  } finally {
    limit.end();
  }
}

async function runOnce<T>(
  context: TransactionContext,
  run: (tx: Transaction) => T | Promise<T>,
  options: TransactionOptions,
): Promise<T> {
  const core = await CoreTransaction.begin(context, options);
  const tx = new Transaction(core);
  try {
    const result = await unlessAborted(run(tx), options.signal, core);
    await tx.commit();
    return result;
  } finally {
    core.rollback();
  }
}

/** Waits for the user's function, but no longer than the deadline; the transaction is then fenced. */
function unlessAborted<T>(
  result: T | Promise<T>,
  signal: AbortSignal | undefined,
  core: CoreTransaction,
): Promise<T> {
  if (signal === undefined) return Promise.resolve(result);
  return new Promise<T>((resolve, reject) => {
    const onAbort = () => {
      const error = abortError(signal, `The transaction that started at ${core.startTimestamp}`);
      core.fence(error);
      reject(error);
    };
    if (signal.aborted) onAbort();
    signal.addEventListener("abort", onAbort, { once: true });
    Promise.resolve(result)
      .then(resolve, reject)
      .finally(() => signal.removeEventListener("abort", onAbort));
  });
}

async function pause(
  context: TransactionContext,
  attempt: number,
  signal: AbortSignal | undefined,
  name: string,
): Promise<void> {
  try {
    await sleep(context.environment, backoffDelay(context.environment, retrying, attempt), signal);
  } catch {
    throw abortError(signal!, name);
  }
}

function checkRetries(retries: number | undefined): number {
  if (retries === undefined) return defaultRetries;
  if (Number.isInteger(retries) && retries >= 0) return retries;
  throw new InvalidArgumentError(`\`retries\` must be a whole number of 0 or more, not ${String(retries)}.`);
}

/** Milliseconds of a deadline, checked. */
export function checkTimeout(timeoutMs: number | undefined): number | undefined {
  if (timeoutMs === undefined || (Number.isFinite(timeoutMs) && timeoutMs > 0)) return timeoutMs;
  throw new InvalidArgumentError(`\`timeoutMs\` must be a number above 0, not ${String(timeoutMs)}.`);
}
