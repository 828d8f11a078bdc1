import type { Environment } from "../../environment/index.js";
import { ClosedError } from "../../errors/index.js";
import { readLease, within } from "../../oracle/index.js";
import type { RowStore } from "../../store/index.js";
import type { Coordination } from "./coordination.js";

/** Whether the store or the coordinator answered. */
export interface SignOfLife {
  readonly answers: boolean;
  /** The reason if it did not answer. Undefined if it did. */
  readonly error: Error | undefined;
}

/** The result of {@link Database.reach}. */
export interface DatabaseReach {
  readonly store: SignOfLife;
  /**
   * The cluster's coordinator. Undefined if this process uses none. A refused token counts as no
   * answer.
   */
  readonly coordinator: SignOfLife | undefined;
  /**
   * Whether transactions can run: the store answers, and so does the coordinator if it assigns
   * timestamps.
   */
  readonly isAble: boolean;
}

export interface ReachOptions {
  /**
   * How long the store and the coordinator may each take to answer, in milliseconds. Default:
   * 1,000.
   */
  readonly timeoutMs?: number | undefined;
}

interface Asked {
  readonly store: RowStore;
  readonly environment: Environment;
  readonly timeoutMs: number;
  readonly coordination: Coordination | undefined;
}

/** Asks the store and the coordinator at the same time. Rejects only with a `ClosedError`. */
export async function reachOf(asked: Asked): Promise<DatabaseReach> {
  const { store, environment, timeoutMs, coordination } = asked;
  const ask = (what: string, question: (signal: AbortSignal) => Promise<unknown>) =>
    within({ environment, timeoutMs, doing: `Asking ${what} whether it answers` }, question).then(
      (): SignOfLife => ({ answers: true, error: undefined }),
      (error: Error): SignOfLife => {
        if (error instanceof ClosedError) throw error;
        return { answers: false, error };
      },
    );
  const [ofStore, ofCoordinator] = await Promise.all([
    ask(store.description, (signal) => readLease({ store, environment, timeoutMs: 2 * timeoutMs, signal })),
    coordination && ask("the coordinator", (signal) => coordination.check(signal)),
  ]);
  const isAble = ofStore.answers && (coordination?.oracle === undefined || ofCoordinator?.answers === true);
  return { store: ofStore, coordinator: ofCoordinator, isAble };
}
