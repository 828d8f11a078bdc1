import type { Timer } from "../../environment/index.js";
import { decodeJson, isBeyondBelief, isTime, isWhole, record } from "../../observer/index.js";
import { type Position, pages, type RowStore, type RowView, type Version } from "../../store/index.js";
import {
  type CellAddress,
  decodeWrite,
  encodeWrite,
  heldMs,
  systemCell,
  systemTable,
  type TransactionContext,
} from "../../transaction/index.js";

const rowPrefix = "active/";
const column = Buffer.from("oldest");

interface Published {
  readonly oldest: number;
  /** Wall-clock time, in milliseconds since 1970, after which the record no longer counts. */
  readonly expires: number;
}

/**
 * Longest time between two writes of a process's record, in milliseconds. A record stays valid for
 * `pausesOutlived` times the process's own interval.
 */
const maxPauseMs = 30_000;
const pausesOutlived = 4;

const maxMs = pausesOutlived * maxPauseMs;

const isPublished = record<Published>({ oldest: isWhole, expires: isTime });

/**
 * Publishes the oldest transaction or snapshot of this process in the store. Garbage collection in
 * other processes then keeps the versions that the oldest one reads. The process publishes nothing
 * while all its transactions and snapshots are much younger than the retention. Each record
 * expires, so a process that died does not hold back collection for long.
 */
export class ActivePublisher {
  readonly #context: TransactionContext;
  readonly #cell: CellAddress;
  readonly #everyMs: number;
  #timer: Timer | undefined;
  /** The timestamp that the record holds. Infinity if there is no record. */
  #published = Number.POSITIVE_INFINITY;
  #publishing: Promise<void> = Promise.resolve();

  constructor(context: TransactionContext, process: string) {
    this.#context = context;
    this.#cell = systemCell(`${rowPrefix}${process}`, column.toString());
    this.#everyMs = Math.min(maxPauseMs, Math.max(250, context.settings.retentionMs / 8));
    this.#schedule();
  }

  #schedule(): void {
    const run = () => {
      void this.#run();
      this.#schedule();
    };
    this.#timer = this.#context.environment.setTimer(run, this.#everyMs, { background: true });
  }

  /**
   * Publishes a snapshot at once if it begins old. Until the next regular write, collection in
   * another process could overtake it.
   */
  async cover(timestamp: number): Promise<void> {
    const isCovered = () => timestamp >= this.#published;
    if (this.#isOld(timestamp) && !isCovered()) await this.#run(isCovered);
  }

  /** One write at a time: an earlier one that arrives later would replace the newer record. */
  #run(isDone = () => false): Promise<void> {
    this.#publishing = this.#publishing
      .then(() => (isDone() ? undefined : this.#publish()))
      .catch((error: unknown) => {
        this.#context.events.emit("backgroundFailure", { doing: "publishing the oldest snapshot", error });
      });
    return this.#publishing;
  }

  #isOld(timestamp: number): boolean {
    const { environment, settings } = this.#context;
    return environment.now() - timestamp / 1_000 >= settings.retentionMs / 4;
  }

  async #publish(): Promise<void> {
    const { environment, settings, active } = this.#context;
    const oldest = active.oldest(heldMs(settings.retentionMs));
    if (!this.#isOld(oldest)) return this.#withdraw();
    await this.#put({ oldest, expires: environment.now() + pausesOutlived * this.#everyMs });
    this.#published = oldest;
  }

  #put(published: Published): Promise<unknown> {
    const { table, row } = this.#cell;
    const timestamp = Math.floor(this.#context.environment.now() * 1_000);
    const value = encodeWrite({
      start: 0,
      kind: "put",
      onePhase: true,
      value: Buffer.from(JSON.stringify(published)),
    });
    return this.#context.store.mutate({
      table,
      row,
      guards: [],
      mutations: [
        { type: "delete", column, part: "write", from: 0, to: Number.POSITIVE_INFINITY },
        { type: "put", column, part: "write", timestamp, value },
      ],
    });
  }

  async #withdraw(): Promise<void> {
    if (this.#published === Number.POSITIVE_INFINITY) return;
    this.#published = Number.POSITIVE_INFINITY;
    await removeEntry(this.#context.store, this.#cell.row);
  }

  /** Stops publishing and removes this process's record. */
  async stop(): Promise<void> {
    this.#timer?.cancel();
    await this.#publishing;
    await this.#withdraw();
  }
}

/**
 * Returns the oldest timestamp that a live record of another process holds, and removes records that
 * have expired. This process knows its own snapshots, also those that have ended since it published them. Reports and ignores a record that cannot be read. A live process soon replaces its
 * unreadable record. Until then collection may overtake the process, and its reads below the
 * safepoint are then refused. Removes a record whose expiry is so late that only a wrong clock can
 * have written it, and does not use its timestamp.
 */
export async function oldestPublished(context: TransactionContext): Promise<number> {
  const { store, environment, events, liveness } = context;
  let oldest = Number.POSITIVE_INFINITY;
  for await (const { row, process, published, write, error } of allPublished(store)) {
    if (published === undefined) {
      events.emit("backgroundFailure", { doing: `reading the oldest snapshot of process ${process}`, error });
    }
    const expires = published?.expires ?? write.timestamp / 1_000 + maxMs;
    const now = environment.now();
    if (expires < now || isBeyondBelief(expires, maxMs, now)) await removeEntry(store, row);
    else if (published !== undefined && process !== liveness.session)
      oldest = Math.min(oldest, published.oldest);
  }
  return oldest;
}

/** Removes the records of all processes, from a store that no process uses. */
export async function clearPublished(store: RowStore): Promise<void> {
  const rows: Uint8Array[] = [];
  for await (const { row } of publishedRows(store)) rows.push(row);
  for (const row of rows) await removeEntry(store, row);
}

/**
 * Yields the records that every reader ignores. A reader ignores a record that it cannot read, and
 * one whose expiry is so late that only a wrong clock can have written it.
 */
export async function* strayPublished(
  store: RowStore,
  nowMs: number,
): AsyncGenerator<{ readonly process: string; readonly expires?: number; readonly error?: unknown }> {
  for await (const { process, published, error } of allPublished(store)) {
    if (published === undefined) yield { process, error };
    else if (isBeyondBelief(published.expires, maxMs, nowMs)) yield { process, expires: published.expires };
  }
}

interface PublishedRow {
  readonly row: Uint8Array;
  readonly process: string;
  readonly write: Version;
  /** Undefined if the record cannot be read. */
  readonly published: Published | undefined;
  readonly error: unknown;
}

async function* allPublished(store: RowStore): AsyncGenerator<PublishedRow> {
  for await (const { row, cells } of publishedRows(store)) {
    const write = cells[0]?.write;
    if (write === undefined) continue;
    const process = Buffer.from(row).toString("utf8").slice(rowPrefix.length);
    let published: Published | undefined;
    let error: unknown;
    try {
      published = decodePublished(write.value);
    } catch (failure) {
      error = failure;
    }
    yield { row, process, write, published, error };
  }
}

function decodePublished(stored: Uint8Array): Published {
  const bytes = decodeWrite(stored).value ?? new Uint8Array(0);
  return decodeJson(bytes, "The record of a process's oldest snapshot", isPublished);
}

async function* publishedRows(store: RowStore): AsyncGenerator<RowView> {
  const end = { row: Buffer.from("active0") };
  const columns = [{ exact: column }];
  const read = (start?: Position) =>
    store.readRange({ table: systemTable, start, end, columns, at: Number.POSITIVE_INFINITY });
  for await (const page of pages(read, { row: Buffer.from(rowPrefix) })) yield* page.rows;
}

async function removeEntry(store: RowStore, row: Uint8Array): Promise<void> {
  await store.mutate({
    table: systemTable,
    row,
    guards: [],
    mutations: [{ type: "delete", column, part: "write", from: 0, to: Number.POSITIVE_INFINITY }],
  });
}
