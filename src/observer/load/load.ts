import { OneAtATime, sleep, throwIfAborted } from "../../environment/index.js";
import { LoadError } from "../../errors/index.js";
import { checkName, definition } from "../../schema/index.js";
import { after, loadStateCell, publishedState, type TransactionContext } from "../../transaction/index.js";
import {
  encodeProgress,
  type LoadProgress,
  type LoadRecord,
  loadOwnerCell,
  loadProgressCell,
} from "../registry/load-record.js";
import type { Registry } from "../registry/registry.js";
import type { LoadBatch } from "./load-batch.js";
import { checkEmpty, removeLoaded } from "./load-ranges.js";
import { LoadWriter } from "./load-writer.js";
import {
  checkParts,
  checkRows,
  type LoadOptions,
  type LoadPart,
  type LoadReport,
  rangesOf,
} from "./options.js";
import { Ownership } from "./ownership.js";
import {
  begin,
  beingDiscarded,
  forget,
  isPublished,
  outOfOrder,
  readProgress,
  reportOfEarlier,
} from "./registered-load.js";
import { acknowledging, RowEncoder, type TakeRow } from "./row-encoder.js";

/** A batch has at most so many bytes or rows. A store writes a batch in one step. */
const batchBytes = 512 * 1024;
const defaultBatchRows = 2_000;
/** Batches that are written at the same time. They bound what a load holds in memory. */
const batchesAtOnce = 8;
/** How often a load stores its position, in milliseconds. */
const beatMs = 2_000;
/** A load whose position could not be stored for this long writes no more until it is stored. */
const silentAfterMs = 5_000;

/**
 * Loads rows into empty ranges (protocol §5.13).
 *
 * | state of the load | next | when |
 * | --- | --- | --- |
 * | (none) | loading | the registry has the load: its ranges are closed to transactions |
 * | loading | published | all rows are stored: one transaction makes them visible |
 * | loading | discarding | `db.discardLoad`, or the ranges were not empty |
 * | discarding | (none) | all rows are removed: the ranges are open again |
 *
 * `batchRows`: the most rows of a batch, for tests. Default: 2,000.
 */
export async function load(
  registry: Registry,
  name: string,
  parts: readonly LoadPart[],
  options: LoadOptions & { readonly batchRows?: number | undefined },
): Promise<LoadReport> {
  checkName("bulk load", name);
  checkParts(parts);
  const ranges = rangesOf(parts);
  await registry.record([...new Set(parts.map(({ table }) => table[definition]))], options.signal);
  const { record, isNew } = await begin(registry, name, ranges, options.signal);
  const ownership = new Ownership(registry, record.start, name);
  if (record.state === "published") return reportOfEarlier(registry, record);
  await ownership.take(options.signal);
  const run = new Load(registry, record, parts, ownership, options, options.batchRows);
  try {
    if (await isPublished(registry, record)) {
      await ownership.release();
      return await reportOfEarlier(registry, record);
    }
    return await run.run();
  } catch (error) {
    if (isNew && error instanceof LoadError && (await readProgress(registry, record.start)) === undefined) {
      await forget(registry, ownership).catch(() => {});
    } else await ownership.release(run.progress).catch(() => {});
    throw error;
  }
}

/** A batch that is being written. */
interface Flight {
  readonly row: Buffer;
  readonly rows: number;
  readonly cells: number;
  readonly stored: Promise<void>;
}

class Load {
  readonly #registry: Registry;
  readonly #context: TransactionContext;
  readonly #record: LoadRecord;
  readonly #parts: readonly LoadPart[];
  readonly #ownership: Ownership;
  readonly #options: LoadOptions;
  readonly #batchRows: number;
  readonly #beats = new OneAtATime();
  #progress: LoadProgress | undefined;
  #writer!: LoadWriter;
  #beatAt = 0;
  #failure: { readonly error: unknown } | undefined;

  constructor(
    registry: Registry,
    record: LoadRecord,
    parts: readonly LoadPart[],
    ownership: Ownership,
    options: LoadOptions,
    batchRows = defaultBatchRows,
  ) {
    this.#registry = registry;
    this.#context = registry.context;
    this.#record = record;
    this.#parts = parts;
    this.#ownership = ownership;
    this.#options = options;
    this.#batchRows = batchRows;
  }

  /** How far this call has come. Undefined if it has not checked the ranges. */
  get progress(): LoadProgress | undefined {
    return this.#progress;
  }

  async run(): Promise<LoadReport> {
    const { start } = this.#record;
    const { store, environment } = this.#context;
    const stored = await readProgress(this.#registry, start);
    if (stored?.isOutOfOrder) throw outOfOrder(this.#record.name);
    const progress = stored ?? (await this.#prepare());
    this.#progress = progress;
    this.#writer = new LoadWriter(store, environment, start, progress.at, this.#ownership.at);
    await this.#beat();
    const beating = new AbortController();
    const beats = this.#keepBeating(beating.signal);
    try {
      // What the interrupted call wrote beyond its last stored position is removed: the source may
      // return other rows now.
      if (stored !== undefined) await this.#removeRest(progress);
      for (let part = progress.part; part < this.#parts.length; part++) await this.#loadPart(part);
    } finally {
      beating.abort();
      await beats;
    }
    await this.#publish();
    const { rows, cells } = this.#progress;
    return { rows, cells, published: true };
  }

  /** Takes the timestamp of the load's cells, and checks that its ranges are empty. */
  async #prepare(): Promise<LoadProgress> {
    const { signal } = this.#options;
    const { name, ranges } = this.#record;
    // Another process may use an older copy of the registry for as long as this.
    const waitMs = 2 * this.#registry.cacheMs;
    if (waitMs > 0) await sleep(this.#context.environment, waitMs, signal, `The bulk load "${name}"`);
    const at = await this.#context.oracle.next({ signal });
    // Observers registered before `at` get acknowledgments. For later ones, the cells count as
    // older than their registration.
    const view = await this.#registry.reload();
    await checkEmpty(this.#context, view, name, ranges, at, signal);
    const tables = new Set(ranges.map(({ table }) => table));
    const observers = [...view.observers.values()]
      .filter(({ record, isWeak }) => !isWeak && tables.has(record.table) && record.since < at)
      .map(({ record }) => ({ name: record.name, version: record.version }));
    return { at, observers, part: 0, row: undefined, rows: 0, cells: 0, beat: 0 };
  }

  async #removeRest({ part, row }: LoadProgress): Promise<void> {
    for (const [index, range] of this.#record.ranges.entries()) {
      if (index < part) continue;
      const start = index === part && row !== undefined ? after(row) : range.start;
      await removeLoaded(this.#context, this.#writer, { ...range, start }, this.#options.signal);
    }
  }

  async #loadPart(index: number): Promise<void> {
    const { table, rows } = this.#parts[index]!;
    const view = await this.#registry.current();
    const { at, observers, part, row } = this.#progress!;
    const defined = table[definition];
    const last = index === part ? row : undefined;
    const { start } = this.#record;
    const acknowledgments = observers.flatMap(({ name, version }) => {
      const observer = view.observers.get(name);
      const isOfTable = observer !== undefined && observer.record.table === defined.name;
      return isOfTable ? [acknowledging(observer, version, { at })] : [];
    });
    const { inlineBytes } = this.#context.store.capabilities;
    const range = this.#record.ranges[index]!;
    const encoder = new RowEncoder(table, range, start, inlineBytes, acknowledgments, last);
    await this.#loadRows(index, encoder, rows(last === undefined ? undefined : defined.key.decode(last)));
    this.#progress = { ...this.#progress!, part: index + 1, row: undefined };
  }

  async #loadRows(
    part: number,
    encoder: RowEncoder,
    rows: Iterable<{ row: unknown; value: object }> | AsyncIterable<{ row: unknown; value: object }>,
  ): Promise<void> {
    const { table } = this.#record.ranges[part]!;
    const flights: Flight[] = [];
    let batch = this.#writer.newBatch(table);
    const send = async () => {
      if (batch.rows === 0) return;
      await this.#assertOwned();
      while (flights.length >= batchesAtOnce) await this.#land(part, flights);
      flights.push(this.#send(batch));
      batch = this.#writer.newBatch(table);
    };
    try {
      const take: TakeRow = (row, cells) => batch.add(row, cells);
      const add = (row: { row: unknown; value: object }) => {
        encoder.encode(row, take);
        return batch.bytes >= batchBytes || batch.rows >= this.#batchRows;
      };
      checkRows(table, rows);
      // Synchronous sources need no await for each row.
      if (Symbol.asyncIterator in rows) {
        for await (const row of rows) if (add(row)) await send();
      } else {
        for (const row of rows) if (add(row)) await send();
      }
      await send();
      while (flights.length > 0) await this.#land(part, flights);
    } finally {
      // Nothing may be under way when the next call removes what is beyond the stored position.
      await this.#landStored(part, flights);
      const isOutOfOrder = encoder.isOutOfOrder && this.#progress!.row !== undefined;
      if (isOutOfOrder) this.#progress = { ...this.#progress!, isOutOfOrder };
    }
  }

  /**
   * Waits for all batches. If the load failed or was aborted, the next call continues after those
   * that were stored without a gap.
   */
  async #landStored(part: number, flights: readonly Flight[]): Promise<void> {
    const answers = await Promise.allSettled(flights.map(({ stored }) => stored));
    for (const [index, flight] of flights.entries()) {
      if (answers[index]!.status === "rejected") return;
      this.#advance(part, flight);
    }
  }

  #send(batch: LoadBatch): Flight {
    const { rows, cells } = batch;
    const row = Buffer.from(batch.last!);
    const stored = this.#writer.put(batch, this.#options.signal);
    // `#land` reports a failure. Until then it must not count as unhandled.
    stored.catch(() => {});
    return { row, rows, cells, stored };
  }

  /** Waits for the oldest batch. All rows up to its last one are then durable. */
  async #land(part: number, flights: Flight[]): Promise<void> {
    const flight = flights[0]!;
    await flight.stored;
    flights.shift();
    this.#advance(part, flight);
    const { table } = this.#record.ranges[part]!;
    const { rows, cells } = this.#progress!;
    await this.#options.onProgress?.({ table, rows, cells });
  }

  #advance(part: number, { row, rows, cells }: Flight): void {
    const before = this.#progress!;
    this.#progress = { ...before, part, row, rows: before.rows + rows, cells: before.cells + cells };
  }

  async #assertOwned(): Promise<void> {
    throwIfAborted(this.#options.signal, `The bulk load "${this.#record.name}"`);
    if (this.#failure !== undefined) throw this.#failure.error;
    if (this.#context.environment.monotonic() - this.#beatAt > silentAfterMs) await this.#beat();
  }

  /** Stores the position. Other processes see from it that this one is alive. */
  #beat(): Promise<void> {
    const { signal } = this.#options;
    return this.#beats.run(
      async () => {
        const sentAt = this.#context.environment.monotonic();
        this.#progress = { ...this.#progress!, beat: this.#progress!.beat + 1 };
        await this.#ownership.write(this.#progress, signal);
        this.#beatAt = sentAt;
      },
      signal,
      "A bulk load",
    );
  }

  async #keepBeating(signal: AbortSignal): Promise<void> {
    const { environment } = this.#context;
    while (!signal.aborted) {
      await sleep(environment, beatMs, signal).catch(() => {});
      if (signal.aborted) return;
      try {
        await this.#beat();
      } catch (error) {
        this.#failure = { error };
        return;
      }
    }
  }

  /** The moment from which all rows are visible. */
  async #publish(): Promise<void> {
    const { start, name } = this.#record;
    await this.#registry.change(async (tx, view) => {
      await this.#ownership.check(tx);
      // A call of `db.discardLoad` that was taken over may have changed the state a moment later.
      const state = view.loadRecords.find((each) => each.start === start)?.state;
      if (state !== "loading") throw beingDiscarded(name);
      tx.write({ ...loadStateCell(start), value: publishedState });
      tx.write({ ...loadOwnerCell(start), value: undefined });
      tx.write({ ...loadProgressCell(start), value: encodeProgress(this.#progress!) });
      return true;
    }, this.#options.signal);
  }
}
