import type { Environment } from "../../../environment/index.js";
import type { Setting } from "../../../store/postgres/index.js";

/** Rows of a chunk while SQL programs write: a few, so that their commits find short gaps. */
const restingRows = 50;
/** Rows of a chunk if nobody writes, or somebody waits for the copy. */
const fullRows = 500;
/** A chunk also reads all pending changes. It has at least this share of their count in rows. */
const pendingShare = 0.1;
const maxRows = 5_000;

/** What the pace must know about a chunk. */
export interface ChunkOutcome {
  readonly hasMore: boolean;
  /** Count of the changes of its table that wait. */
  readonly pending: number;
  /** How many times as long as the chunk took the copy of its table rests. */
  readonly rest: number;
}

/**
 * When a copy goes on, and by how much. It shares processors, disk and log with the SQL programs that
 * write, so it rests after each chunk, in proportion to what the chunk took: on a busy server a chunk
 * takes longer, and so does the rest. It does not rest while nothing is written to attached tables.
 * It never takes more than half of the time from changes that wait.
 */
export class CopyPace {
  readonly #environment: Pick<Environment, "monotonic">;
  /** When the last chunk began and ended, if the copy goes on after it. */
  #last: { readonly tookMs: number; readonly to: number; readonly rest: number } | undefined;
  #pending = 0;
  /** The most rows of a chunk, since one that was larger did not fit into a transaction. */
  #fitting = maxRows;
  /** Whether changes were moved since the last chunk. */
  #isWritten = false;

  constructor(environment: Pick<Environment, "monotonic">) {
    this.#environment = environment;
  }

  /** Notes that so many changes were moved. */
  moved(rows: number): void {
    if (rows > 0) this.#isWritten = true;
  }

  /** The most rows of the next chunk. `rest`: how many times as long as it takes the copy rests. */
  rows(rest: number): number {
    const least = this.#isWritten && rest > 0 ? restingRows : fullRows;
    return Math.round(Math.min(this.#fitting, Math.max(least, pendingShare * this.#pending)));
  }

  /** Notes that a chunk of so many rows does not fit into a transaction. The next ones are smaller. */
  tooLarge(rows: number): void {
    this.#fitting = Math.ceil(rows / 8);
  }

  /**
   * Milliseconds until the next chunk. `isUrgent`: whether somebody waits for the copy. `isBehind`:
   * whether changes wait.
   */
  waitMs(isUrgent: boolean, isBehind: boolean): number {
    if (this.#last === undefined || !this.#isWritten) return 0;
    const { tookMs, to, rest } = this.#last;
    const times = Math.max(isUrgent ? 0 : rest, isBehind ? 1 : 0);
    return Math.max(0, to + times * tookMs - this.#environment.monotonic());
  }

  /** Runs the next chunk. */
  async run<T extends ChunkOutcome>(chunk: () => Promise<T>): Promise<T> {
    const from = this.#environment.monotonic();
    const outcome = await chunk();
    const to = this.#environment.monotonic();
    const { hasMore, pending, rest } = outcome;
    this.#last = hasMore ? { tookMs: to - from, to, rest } : undefined;
    this.#pending = pending;
    // The rows that follow may be shorter.
    this.#fitting = hasMore ? Math.min(maxRows, Math.ceil(this.#fitting * 1.1)) : maxRows;
    this.#isWritten = false;
    return outcome;
  }
}

const paces = new WeakMap<Setting["connections"], CopyPace>();

/** The pace of this process's copies in one database. */
export function paceOf({ connections }: Setting): CopyPace {
  const known = paces.get(connections) ?? new CopyPace(connections.environment);
  paces.set(connections, known);
  return known;
}
