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

/** Bytes of values of one joined mutation. */
const maxBytes = 1024 * 1024;

interface Waiting {
  readonly mutation: RowMutation;
  readonly columns: readonly string[];
  readonly resolve: (answer: MutationAnswer) => void;
  readonly reject: (error: unknown) => void;
}

/** A row with guarded mutations under way, and what came for it meanwhile. */
interface Lane {
  /** Columns of what is under way and of what waits. */
  columns: Set<string>;
  waiting: Waiting[];
}

/** The store, with guarded mutations of one row joined if it is remote; one in this process is given back as it is. */
export function joinMutations(store: RowStore, events: Emitter): RowStore {
  if (!isRemote(store)) return store;
  return new JoiningStore(store, (mutations) => {
    if (events.hasListeners("joined")) events.emit("joined", { mutations });
  });
}

/**
 * Sends guarded mutations of one row that meet in this process as one (protocol §2.3): those of one tick, and those that come
 * while one is under way on their row, when that has been answered. Only such as are of different columns, so that none of them can change what
 * another one's guards say: applied as one they are what they would be one after the other. Where a guard of any does not hold
 * nothing was applied, and each is sent by itself. So is one that may be given up: nobody else's is given up with it.
 */
export class JoiningStore extends PassingStore {
  readonly #onJoined: (mutations: number) => void;
  readonly #lanes = new Map<string, Lane>();

  /** `onJoined`: told how many were sent as one, where that was not in vain. */
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

  /** Half of what fits finds little to be joined with, and is one of many of its row: those go all at once. */
  #isLarge(mutation: RowMutation): boolean {
    const { mutationCells, guardBytes = Number.POSITIVE_INFINITY } = this.capabilities;
    return sizeOf(mutation) > mutationCells / 2 || guardBytesOf(mutation) > guardBytes / 2;
  }

  #openLane(key: string): Lane {
    const lane: Lane = { columns: new Set(), waiting: [] };
    this.#lanes.set(key, lane);
    // Others of the same tick may come for the same row.
    queueMicrotask(() => this.#next(key, lane));
    return lane;
  }

  /** Nothing is under way: what waits can go. */
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

  /** As many of those that wait longest as fit into one mutation. */
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

  /** Resolves when all of a group have been answered. */
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
      // It was certainly not applied. Each learns for itself what is wrong.
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

/** As `StoreCapabilities.guardBytes` counts them. */
function guardBytesOf({ guards }: RowMutation): number {
  return guards.reduce((bytes, { column }) => bytes + column.length + 64, 0);
}

function columnsOf({ guards, mutations }: RowMutation): readonly string[] {
  const columns: string[] = [];
  let last: Uint8Array | undefined;
  // Guards and mutations of a cell follow each other, and mostly share its bytes.
  for (const { column } of [...guards, ...mutations]) {
    if (column !== last) columns.push(byteString(column));
    last = column;
  }
  return columns;
}
