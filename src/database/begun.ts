import type { ClosedError } from "../errors/index.js";
import {
  CoreTransaction,
  checkTimeout,
  deadline,
  Transaction,
  type TransactionContext,
  type TransactionOptions,
} from "../transaction/index.js";

/**
 * The transactions from `db.begin` that have not ended. Their callers commit them or roll them
 * back.
 */
export class BegunTransactions {
  readonly #cores = new Set<CoreTransaction>();
  #ended: ClosedError | undefined;

  /** Starts a transaction. Its deadline ends it if its caller does not. */
  async begin(
    context: TransactionContext,
    { isolation, label, signal, timeoutMs }: TransactionOptions,
  ): Promise<Transaction> {
    const limit = deadline(context.environment, signal, checkTimeout(timeoutMs), "The transaction");
    try {
      const core = await CoreTransaction.begin(context, {
        isolation,
        label,
        signal: limit.signal,
        onEnd: () => {
          limit.end();
          this.#cores.delete(core);
        },
      });
      this.#cores.add(core);
      // A forgotten transaction holds back garbage collection only until its deadline.
      limit.whenOver((reason) => core.fence(reason));
      // The database may have been closed while the transaction began.
      if (this.#ended !== undefined) core.fence(this.#ended);
      return new Transaction(core);
    } catch (error) {
      limit.end();
      throw error;
    }
  }

  /**
   * Ends all of these transactions. Otherwise their deadline timers would keep the process alive.
   */
  end(error: ClosedError): void {
    this.#ended = error;
    for (const core of this.#cores) core.fence(error);
  }
}
