import { throwIfAborted } from "../../environment/index.js";
import {
  checkOptionNames,
  InvalidArgumentError,
  ObserverError,
  type OptionNames,
} from "../../errors/index.js";
import { definition, describeValue, encodePrefix, familyRange, prefixEnd } from "../../schema/index.js";
import type { ColumnRange, Position } from "../../store/index.js";
import type { CoreTransaction } from "../../transaction/index.js";
import { isObserver, type Observer } from "../observer.js";
import { type BackfillState, backfillId, decodeBackfill, encodeBackfill } from "./backfill-state.js";
import { registeredObserver } from "./cell-of.js";
import { backfillCell, generationCell } from "./cells.js";
import type { RegisteredObserver } from "./registered.js";
import type { Registry } from "./registry.js";
import type { RegistryView } from "./view.js";

/** A range of rows. If several bounds are given, all apply. */
export interface BackfillRange {
  readonly prefix?: unknown;
  /** First key, inclusive, or the leading parts of a tuple. Default: the table's first. */
  readonly start?: unknown;
  /** End of the range, exclusive, or the leading parts of a tuple. Default: the table's end. */
  readonly end?: unknown;
}

/** How far a backfill has come. */
export interface BackfillProgress {
  /** How many cells are marked due, including those of earlier calls that this one continues. */
  readonly marked: number;
  /**
   * Estimated share of the range that is done, from 0 to 1. Undefined if it cannot be estimated.
   */
  readonly share: number | undefined;
}

/** The options of `db.backfill`. All are optional. */
export interface BackfillOptions {
  /**
   * The rows on whose cells the observer becomes due: `{ prefix, start, end }`, keys of rows.
   * Default: all rows.
   */
  readonly range?: BackfillRange | undefined;
  /** Stops between two batches when it is aborted. A later call continues from there. */
  readonly signal?: AbortSignal | undefined;
  /** Called after each batch with the progress. */
  readonly onProgress?: ((progress: BackfillProgress) => void) | undefined;
}

/** The result of a backfill. */
export interface BackfillReport {
  /** How many cells were marked due. */
  readonly marked: number;
}

const rangeNames: OptionNames<BackfillRange> = { prefix: true, start: true, end: true };
const cellsAtOnce = 256;
const noBytes = new Uint8Array(0);
const maxSplitPoints = 256;

/**
 * Marks the existing cells of an observer's column as due, including deleted ones whose deletion
 * the store still knows. Workers then run the observer on the cells that its registered version has
 * not handled.
 *
 * Each batch stores its position, separately for each range. A call first continues backfills that
 * earlier calls left unfinished, and then walks its own range. When the call resolves, its whole
 * range is marked, even if other backfills of the observer ran at the same time.
 */
export async function backfill(
  registry: Registry,
  which: Observer | string,
  options: BackfillOptions = {},
): Promise<BackfillReport> {
  const name = isObserver(which) ? which.name : which;
  checkOptionNames("range of db.backfill", options.range ?? {}, rangeNames);
  const registered = registeredObserver(await registry.fresh(), name);
  if (registered.isWeak) {
    throw new InvalidArgumentError(
      `Observer "${name}" watches a signal. Signals have no stored cells that a backfill could mark as due.`,
    );
  }
  return new Backfill(registry, name, options).run();
}

class Backfill {
  readonly #registry: Registry;
  readonly #name: string;
  readonly #options: BackfillOptions;
  #splitPoints: readonly Uint8Array[] = [];
  /**
   * Commit timestamp of the observer's registration. It distinguishes this observer from a later
   * one with the same name.
   */
  #since = 0;

  constructor(registry: Registry, name: string, options: BackfillOptions) {
    this.#registry = registry;
    this.#name = name;
    this.#options = options;
  }

  async run(): Promise<BackfillReport> {
    const { record } = registeredObserver(await this.#registry.fresh(), this.#name);
    this.#splitPoints = await this.#registry.context.store.splitPoints(record.table, maxSplitPoints);
    const begun = await this.#begin();
    // A worker with an older copy of the registry would delete the hints (protocol §5.8).
    await this.#registry.untilKnown(this.#name, this.#options.signal, backfillOf(this.#name));
    let marked = 0;
    for (const state of begun) marked += await this.#walk(state);
    return { marked };
  }

  /**
   * Records this backfill, or joins the unfinished one of the same range and version. Returns all
   * unfinished backfills of the observer, with this one last.
   */
  async #begin(): Promise<readonly BackfillState[]> {
    let begun: readonly BackfillState[] = [];
    await this.#registry.change(async (tx, view) => {
      const wanted = this.#wanted(view);
      const { record } = registeredObserver(view, this.#name);
      this.#since = record.since;
      const others = record.backfills.filter((state) => !isSame(state, wanted));
      const same = record.backfills.find((state) => isSame(state, wanted));
      begun = [...others, same ?? wanted];
      if (same !== undefined) return false;
      tx.write({ ...backfillCell(this.#name, wanted.id), value: encodeBackfill(wanted) });
      return true;
    }, this.#options.signal);
    return begun;
  }

  #wanted(view: RegistryView): BackfillState {
    const { record } = registeredObserver(view, this.#name);
    const table = view.table(record.table)![definition];
    const { prefix, start, end } = this.#options.range ?? {};
    let from = start === undefined ? undefined : Buffer.from(encodePrefix(table, start, "start"));
    let to = end === undefined ? undefined : Buffer.from(encodePrefix(table, end, "end"));
    if (prefix !== undefined) {
      const first = Buffer.from(encodePrefix(table, prefix));
      const last = prefixEnd(first);
      if (from === undefined || Buffer.compare(from, first) < 0) from = first;
      if (last !== undefined && (to === undefined || Buffer.compare(last, to) < 0)) to = Buffer.from(last);
    }
    if (from !== undefined && to !== undefined && Buffer.compare(from, to) > 0) {
      throw new InvalidArgumentError(
        `The range of a backfill must begin before it ends, not be ${describeValue(start)} to ${describeValue(end)}.`,
      );
    }
    const { version } = record;
    const wanted = { start: from, end: to, cursor: undefined, column: undefined, version, marked: 0 };
    return { id: backfillId(wanted), ...wanted };
  }

  /**
   * Marks batch after batch, from the position in the state. Another process may run the same
   * backfill at the same time. The two then share the work.
   */
  async #walk(begun: BackfillState): Promise<number> {
    let marked = 0;
    let state: BackfillState | undefined = begun;
    await this.#report(begun);
    while (state !== undefined) {
      throwIfAborted(this.#options.signal, backfillOf(this.#name));
      const before = state.marked;
      const step = await this.#registry.retrying(() => this.#step(begun.id), this.#options.signal);
      if (step === undefined) return marked;
      marked += Math.max(0, step.state.marked - before);
      await this.#report(step.state);
      state = step.isLast ? undefined : step.state;
    }
    await this.#registry.reload();
    return marked;
  }

  /**
   * Marks one batch: one transaction writes the hints and the new position. The last batch deletes
   * the state. If the state is gone, another call has finished the backfill, and the result is
   * undefined.
   */
  async #step(id: string): Promise<{ readonly state: BackfillState; readonly isLast: boolean } | undefined> {
    const { signal } = this.#options;
    const tx = await this.#registry.systemTransaction(`backfill ${this.#name}`, signal);
    try {
      const registered = registeredObserver(await this.#registry.fresh(), this.#name);
      if (registered.record.since !== this.#since) throw unregisteredError(this.#name);
      const cell = backfillCell(this.#name, id);
      const stored = await this.#registry.read(tx, cell);
      if (stored === undefined) return undefined;
      const next = await this.#mark(tx, registered, decodeBackfill(stored, id));
      tx.write({ ...cell, value: next.isLast ? undefined : encodeBackfill(next.state) });
      if (next.isLast) tx.write({ ...generationCell, value: noBytes });
      await tx.commit();
      return next;
    } finally {
      tx.rollback();
    }
  }

  async #mark(
    tx: CoreTransaction,
    registered: RegisteredObserver,
    state: BackfillState,
  ): Promise<{ readonly state: BackfillState; readonly isLast: boolean }> {
    const { table } = registered.record;
    const page = await tx.reader.range({
      table,
      start: startOf(state),
      end: state.end === undefined ? undefined : { row: state.end },
      columns: [watchedColumns(registered)],
      limit: cellsAtOnce,
    });
    let marked = state.marked;
    for (const { row, cells } of page.rows) {
      for (const { column } of cells) {
        tx.addHint(registered.hint({ table, row, column }));
        marked++;
      }
    }
    const { next } = page;
    const place =
      next === undefined
        ? { cursor: state.cursor, column: undefined }
        : {
            cursor: Buffer.from(next.row),
            column: next.column === undefined ? undefined : Buffer.from(next.column),
          };
    return { state: { ...state, ...place, marked }, isLast: next === undefined };
  }

  async #report({ cursor, marked }: BackfillState): Promise<void> {
    const { onProgress } = this.#options;
    if (onProgress === undefined) return;
    const points = this.#splitPoints;
    const passed =
      cursor === undefined ? 0 : points.filter((point) => Buffer.compare(point, cursor) <= 0).length;
    await onProgress({ marked, share: points.length === 0 ? undefined : passed / (points.length + 1) });
  }
}

function backfillOf(name: string): string {
  return `The backfill of observer "${name}"`;
}

function unregisteredError(name: string): ObserverError {
  return new ObserverError(
    `Observer "${name}" was unregistered and registered again while its backfill ran. Run \`backfill\` again.`,
  );
}

function startOf({ cursor, column, start }: BackfillState): Position | undefined {
  if (cursor !== undefined) return { row: cursor, column };
  return start === undefined ? undefined : { row: start };
}

function watchedColumns({ record }: RegisteredObserver): ColumnRange {
  return record.kind === "family" ? familyRange(record.column) : { exact: Buffer.from(record.column) };
}

function isSame(one: BackfillState, other: BackfillState): boolean {
  const equal = (a: Buffer | undefined, b: Buffer | undefined) =>
    a === undefined || b === undefined ? a === b : Buffer.compare(a, b) === 0;
  return equal(one.start, other.start) && equal(one.end, other.end) && one.version === other.version;
}
