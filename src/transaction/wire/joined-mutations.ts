import type { Emitter } from "../../events/index.js";
import {
  byteString,
  isRemote,
  type MutationAnswer,
  type RowMutation,
  type RowStore,
  type StoreRequestOptions,
} from "../../store/index.js";
import { rowKey } from "../cell/address.js";
import { PassingStore } from "./passing-store.js";

/** 1 MiB: maximum bytes of values in one joined mutation. */
const maxBytes = 1024 * 1024;

/** A mutation that waits to be sent, with its caller's promise. */
interface Waiting {
  readonly mutation: RowMutation;
  readonly columns: readonly string[];
  readonly resolve: (answer: MutationAnswer) => void;
  readonly reject: (error: unknown) => void;
}

/** A row with guarded mutations under way, and those that arrived since. */
interface Lane {
  /** Columns of the mutations under way and of those that wait. */
  columns: Set<string>;
  waiting: Waiting[];
}

/**
 * Wraps a remote store so that guarded mutations of one row are joined. Returns a store in this
 * process unchanged.
 */
export function joinMutations(store: RowStore, events: Emitter): RowStore {
  if (!isRemote(store)) return store;
  return new JoiningStore(store, (mutations) => {
    if (events.hasListeners("joined")) events.emit("joined", { mutations });
  });
}

/**
 * Joins guarded mutations of one row into one request (protocol §2.3). It joins mutations of the
 * same tick. While a request for a row is under way, it also collects later ones and sends them
 * together.
 *
 * It joins only mutations of different columns. None of them can change the result of another's
 * guards, so applying them together equals applying them in sequence. If any guard fails, the store
 * applies nothing, and each mutation is sent alone. A mutation with an abort signal is also sent
 * alone, so that an abort affects no others.
 */
export class JoiningStore extends PassingStore {
  readonly #onJoined: (mutations: number) => void;
  readonly #lanes = new Map<string, Lane>();

  /** `onJoined`: called with the number of mutations in a joined request that was not rejected. */
  constructor(store: RowStore, onJoined: (mutations: number) => void = () => {}) {
    super(store);
    this.#onJoined = onJoined;
  }

  override mutate(mutation: RowMutation, options?: StoreRequestOptions): Promise<MutationAnswer> {
    if (mutation.guards.length === 0 || options?.signal !== undefined || this.#isLarge(mutation)) {
      return this.store.mutate(mutation, options);
    }
    const key = rowKey(mutation.table, mutation.row);
    const columns = columnsOf(mutation);
    let lane = this.#lanes.get(key);
    if (lane === undefined) {
      lane = this.#openLane(key);
    } else if (columns.some((column) => lane!.columns.has(column))) {
      return this.store.mutate(mutation);
    }
    for (const column of columns) lane.columns.add(column);
    return new Promise((resolve, reject) => lane.waiting.push({ mutation, columns, resolve, reject }));
  }

  /**
   * Whether a mutation takes more than half of a limit, so that it rarely fits into one request
   * with another. Such a mutation is usually one of many for a wide row, and all of those should be
   * sent at once.
   */
  #isLarge(mutation: RowMutation): boolean {
    const { mutationCells, guardBytes = Number.POSITIVE_INFINITY } = this.capabilities;
    return sizeOf(mutation) > mutationCells / 2 || guardBytesOf(mutation) > guardBytes / 2;
  }

  #openLane(key: string): Lane {
    const lane: Lane = { columns: new Set(), waiting: [] };
    this.#lanes.set(key, lane);
    // Other mutations of the same tick may join.
    queueMicrotask(() => this.#next(key, lane));
    return lane;
  }

  /** Sends the next group. Called when no request is under way on the row. */
  #next(key: string, lane: Lane): void {
    const group = this.#takeGroup(lane);
    if (group.length === 0) {
      this.#lanes.delete(key);
      return;
    }
    lane.columns = new Set();
    for (const { columns } of group) for (const column of columns) lane.columns.add(column);
    for (const { columns } of lane.waiting) for (const column of columns) lane.columns.add(column);
    const next = () => this.#next(key, lane);
    this.#send(group).then(next, next);
  }

  /** Takes as many mutations as fit into one, longest wait first. */
  #takeGroup(lane: Lane): readonly Waiting[] {
    if (lane.waiting.length <= 1) return lane.waiting.splice(0);
    const { mutationCells, guardBytes = Number.POSITIVE_INFINITY, mixedGuards = true } = this.capabilities;
    let [cells, bytes, guarded, count] = [0, 0, 0, 0];
    const kind = lane.waiting[0]?.mutation.guards[0]?.type;
    for (const { mutation } of lane.waiting) {
      cells += sizeOf(mutation);
      bytes += bytesOf(mutation);
      guarded += guardBytesOf(mutation);
      const isOfKind = mixedGuards || mutation.guards.every(({ type }) => type === kind);
      const fits = cells <= mutationCells && bytes <= maxBytes && guarded <= guardBytes;
      if (count > 0 && !(fits && isOfKind)) break;
      count++;
    }
    return lane.waiting.splice(0, count);
  }

  /** Resolves when every mutation of a group has been answered. */
  async #send(group: readonly Waiting[]): Promise<void> {
    if (group.length === 1) return this.#sendAlone(group[0]!);
    const answer = await this.#sendJoined(group);
    if (answer !== "rejected") {
      this.#onJoined(group.length);
      for (const { resolve } of group) resolve(answer);
      return;
    }
    await Promise.all(group.map((one) => this.#sendAlone(one)));
  }

  async #sendJoined(group: readonly Waiting[]): Promise<MutationAnswer> {
    const { table, row } = group[0]!.mutation;
    try {
      return await this.store.mutate({
        table,
        row,
        guards: group.flatMap(({ mutation }) => mutation.guards),
        mutations: group.flatMap(({ mutation }) => mutation.mutations),
      });
    } catch {
      // The store throws only if it applied nothing. Each mutation is sent alone to get its own
      // error.
      return "rejected";
    }
  }

  async #sendAlone({ mutation, resolve, reject }: Waiting): Promise<void> {
    try {
      resolve(await this.store.mutate(mutation));
    } catch (error) {
      reject(error);
    }
  }
}

function sizeOf({ guards, mutations }: RowMutation): number {
  return guards.length + mutations.length;
}

function bytesOf({ mutations }: RowMutation): number {
  return mutations.reduce((bytes, one) => bytes + (one.type === "put" ? one.value.length : 0), 0);
}

/** Counts bytes as `StoreCapabilities.guardBytes` does. */
function guardBytesOf({ guards }: RowMutation): number {
  return guards.reduce((bytes, { column }) => bytes + column.length + 64, 0);
}

function columnsOf({ guards, mutations }: RowMutation): readonly string[] {
  const columns: string[] = [];
  let last: Uint8Array | undefined;
  // Guards and mutations of one cell are adjacent and usually share the column's bytes.
  for (const { column } of [...guards, ...mutations]) {
    if (column !== last) columns.push(byteString(column));
    last = column;
  }
  return columns;
}
