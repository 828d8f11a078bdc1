import { backoffDelay, type Environment, sleep } from "../../environment/index.js";
import { LoadError, StoreError } from "../../errors/index.js";
import { limits } from "../../schema/index.js";
import type { AtomicStore, Mutation, RowMutation, RowStore } from "../../store/index.js";
import { loadOwnerCell } from "../registry/load-record.js";
import { LoadBatch } from "./load-batch.js";

/** How often a write without an answer is repeated. Repeating it is safe: it writes the same bytes. */
const maxRepeats = 10;
/**
 * A store finds the cells of a batch with so few changes without an index. Batches that are sent
 * together share a flush.
 */
const changesAtOnce = 12;
const repeating = { initialMs: 10, maximumMs: 2_000 };

/**
 * Writes batches of a load. On a store with atomic batches, each batch is guarded by the load's
 * owner, so that a loader that was taken over can write no more.
 */
export class LoadWriter {
  readonly #store: RowStore;
  readonly #environment: Environment;
  readonly #start: number;
  readonly #at: number;
  readonly #guard: RowMutation;
  /** Written batches, whose memory the next batches use. */
  #spares: LoadBatch[] = [];

  /** `ownedAt`: commit timestamp of the owner's cell. */
  constructor(store: RowStore, environment: Environment, start: number, at: number, ownedAt: number) {
    this.#store = store;
    this.#environment = environment;
    this.#start = start;
    this.#at = at;
    const { table, row, column } = loadOwnerCell(start);
    const to = Number.POSITIVE_INFINITY;
    this.#guard = {
      table,
      row,
      guards: [
        { type: "absent", column, part: "lock", from: 0, to },
        { type: "absent", column, part: "write", from: ownedAt + 1, to },
      ],
      mutations: [],
    };
  }

  /** An empty batch of rows of a table. Pass it to {@link put}. */
  newBatch(table: string): LoadBatch {
    this.#spares = this.#spares.filter((spare) => spare.table === table);
    const { atomic, capabilities } = this.#store;
    // A block has no data cells, so every value must fit into its record.
    const isPacked = atomic?.fill !== undefined && capabilities.inlineBytes >= limits.valueBytes;
    return this.#spares.pop() ?? new LoadBatch(table, this.#start, this.#at, isPacked);
  }

  /**
   * Puts the cells of a batch. Resolves when they are durable. The batch is empty then. An abort ends
   * a pause between two attempts, but no request to the store: the load must know which batches are
   * stored, so that the next call can continue after them.
   */
  async put(batch: LoadBatch, signal: AbortSignal | undefined): Promise<void> {
    if (!(await this.#fill(batch, signal))) await this.#write(this.#divided(batch.mutations()), signal);
    batch.clear();
    this.#spares.push(batch);
  }

  /** Deletes cells of this load. */
  async remove(
    table: string,
    cells: readonly { readonly row: Uint8Array; readonly column: Uint8Array }[],
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const mutations: RowMutation[] = [];
    for (const { row, column } of cells) {
      const deletes: Mutation[] = [
        { type: "delete", column, part: "write", from: this.#at, to: this.#at + 1 },
        { type: "delete", column, part: "data", from: this.#start, to: this.#start + 1 },
      ];
      mutations.push({ table, row, guards: [], mutations: deletes });
    }
    await this.#write(mutations, signal);
  }

  /**
   * Puts a packed batch in one step. Returns false if the batch must be written as mutations: the
   * store cannot fill ranges, or the range has a record. That may be the lock of a transaction that
   * is about to be refused, or what this call has put before the store's answer was lost.
   */
  async #fill({ block }: LoadBatch, signal: AbortSignal | undefined): Promise<boolean> {
    const { atomic } = this.#store;
    if (block === undefined || atomic?.fill === undefined) return false;
    const batch = { guarded: this.#guard, cells: block };
    for (let repeat = 1; ; repeat++) {
      const answer = await atomic.fill(batch);
      if (answer === "applied") return true;
      if (answer === "occupied") return false;
      if (answer === "rejected") throw takenOver();
      if (repeat === maxRepeats) throw unanswered(undefined);
      await this.#pause(repeat, signal);
    }
  }

  /** A value and its write record stay in one mutation, so that each write names existing data. */
  #divided(rows: readonly RowMutation[]): readonly RowMutation[] {
    const most = this.#store.capabilities.mutationCells;
    if (rows.every(({ mutations }) => mutations.length <= most)) return rows;
    const divided: RowMutation[] = [];
    for (const each of rows) {
      const { mutations } = each;
      for (let from = 0; from < mutations.length; ) {
        let end = Math.min(mutations.length, from + most);
        if (end < mutations.length && mutations[end]!.part === "data") end--;
        divided.push({ ...each, mutations: mutations.slice(from, end) });
        from = end;
      }
    }
    return divided;
  }

  async #write(mutations: readonly RowMutation[], signal: AbortSignal | undefined): Promise<void> {
    const { atomic } = this.#store;
    const written =
      atomic === undefined
        ? mutations.map((mutation) => this.#mutate(mutation, signal))
        : groups(mutations).map((rows) => this.#commit(atomic, rows, signal));
    // Nothing may be under way any more when the caller learns of a failure.
    for (const answer of await Promise.allSettled(written))
      if (answer.status === "rejected") throw answer.reason;
  }

  async #commit(
    atomic: AtomicStore,
    rows: readonly RowMutation[],
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const batch = { rows: [this.#guard, ...rows] };
    for (let repeat = 1; ; repeat++) {
      const answer = await atomic.commit(batch);
      if (answer.answer === "applied") return;
      if (answer.answer === "rejected") throw takenOver();
      if (repeat === maxRepeats) throw unanswered(answer.cause);
      await this.#pause(repeat, signal);
    }
  }

  async #mutate(mutation: RowMutation, signal: AbortSignal | undefined): Promise<void> {
    for (let repeat = 1; ; repeat++) {
      if ((await this.#store.mutate(mutation)) === "applied") return;
      if (repeat === maxRepeats) throw unanswered(undefined);
      await this.#pause(repeat, signal);
    }
  }

  #pause(repeat: number, signal: AbortSignal | undefined): Promise<void> {
    return sleep(
      this.#environment,
      backoffDelay(this.#environment, repeating, repeat),
      signal,
      "A bulk load",
    );
  }
}

/** Divides mutations into batches of a few changes each. */
function groups(mutations: readonly RowMutation[]): readonly (readonly RowMutation[])[] {
  const divided: RowMutation[][] = [];
  let open: RowMutation[] = [];
  let changes = 0;
  for (const mutation of mutations) {
    changes += mutation.mutations.length;
    if (open.length === 0 || changes > changesAtOnce) {
      open = [];
      divided.push(open);
      changes = mutation.mutations.length;
    }
    open.push(mutation);
  }
  return divided;
}

/** The error of a loader whose load another process has taken over. */
export function takenOver(): LoadError {
  return new LoadError(
    "Another call of `db.load` or `db.discardLoad` has taken this bulk load over, because it saw no progress. This call " +
      "has stopped. The other one continues from the last stored position.",
  );
}

function unanswered(cause: unknown): StoreError {
  return new StoreError(
    "The store did not answer a batch of a bulk load. Call `db.load` again: it continues from the last stored position.",
    { retryable: true, cause },
  );
}
