import { errorNumber } from "./errors.js";
import type { Request } from "./request.js";
import type { StoreState } from "./state.js";

/** LMDB's answer to a commit after an error that made the transaction unfit. */
const badTransaction = -30782;

/** Requests that share a transaction and its flush. */
export class Group {
  readonly number: number;
  readonly requests: Request[] = [];
  /** LMDB's transaction that it went into. Groups that follow closely may share one. */
  transaction: Transaction | undefined;
  /** Whether anything was written. */
  wrote = false;
  /** Whether a request may be answered before the flush. */
  early = false;

  constructor(number: number) {
    this.number = number;
  }
}

/** One of LMDB's write transactions. */
export interface Transaction {
  readonly id: number;
  /** What `meta` said before it. */
  readonly before: StoreState;
  /** By the monotonic clock. */
  readonly started: number;
  requests: number;
  /** Why it cannot be committed. */
  failure: unknown;
}

/** LMDB's binding rejects with a general error, and says why in a promise that hangs on it. */
export async function commitError(failure: unknown): Promise<unknown> {
  if (typeof failure !== "object" || failure === null || !("commitError" in failure)) return failure;
  try {
    await failure.commitError;
  } catch (error) {
    return errorNumber(error) === badTransaction ? failure : error;
  }
  return failure;
}
