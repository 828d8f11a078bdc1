import { eventLoopTurn, Pace, throwIfAborted } from "../environment/index.js";
import { InvalidArgumentError } from "../errors/index.js";
import type { Registry } from "../observer/index.js";
import { currentTimestamp } from "../oracle/index.js";
import { type ColumnDefinition, columnPath, describeValue, familyRange } from "../schema/index.js";
import { allColumns, type ColumnRange, type Position, pages } from "../store/index.js";
import { type CellAddress, SnapshotReader, systemTable } from "../transaction/index.js";
import {
  decodePass,
  encodePass,
  newPass,
  type PassKind,
  type PassRecord,
  passCell,
  passOf,
  passRows,
} from "./pass-record.js";

/** How far a pass through a table has come, with what earlier, interrupted calls did. */
export interface PassProgress {
  readonly table: string;
  /** Cells visited. */
  readonly scanned: number;
  /** Cells rewritten or removed. */
  readonly changed: number;
  /** Estimated share of the table that is done, from 0 to 1. Undefined if it cannot be estimated. */
  readonly share: number | undefined;
}

/** The options of every call that passes through tables. All are optional. */
export interface PassOptions {
  /** Most cells changed in a second. Default: as many as the store takes. */
  readonly rate?: number | undefined;
  /** Stops between two pages when it is aborted. A later call continues from there. */
  readonly signal?: AbortSignal | undefined;
  /** Called after each page with the progress. */
  readonly onProgress?: ((progress: PassProgress) => void) | undefined;
}

/** A cell with a value, as a pass visits it. */
export interface PassedCell extends CellAddress {
  readonly value: Uint8Array;
  /** Timestamp of the commit that wrote the value. */
  readonly commit: number;
}

/** One pass through the cells of a table. */
export interface Pass {
  readonly kind: PassKind;
  readonly table: string;
  /** The column of a pass that has a record of its own, besides those of other columns. */
  readonly column?: string | undefined;
  readonly columns: readonly ColumnRange[];
  /** See {@link PassRecord.edition}. */
  readonly edition: string;
  /** Whether the pass only looks. It then records nothing, and begins at the first row. */
  readonly looksOnly: boolean;
  /** Milliseconds between two records of the position. Default: 0, a record after each page. */
  readonly recordEveryMs?: number | undefined;
  /** The subject of messages. */
  readonly doing: string;
  /**
   * Handles some cells. Returns how many it changed, and how many it could not change. Undefined if
   * another call has ended the pass, so that this one ends too.
   */
  readonly handle: (cells: readonly PassedCell[]) => Promise<{ changed: number; failed: number } | undefined>;
}

/** What a pass did. */
export interface PassResult {
  readonly scanned: number;
  readonly changed: number;
  readonly failed: number;
  /** Whether it continued an earlier, interrupted call. */
  readonly continued: boolean;
}

/** Checks `rate` before the call changes anything: with a rate of 0, a pass would never end. */
export function checkRate(call: string, rate: unknown): void {
  if (rate === undefined || (typeof rate === "number" && Number.isFinite(rate) && rate > 0)) return;
  throw new InvalidArgumentError(
    `\`rate\` of \`${call}\` must be a number of cells above 0, not ${describeValue(rate)}.`,
  );
}

/** The ranges of some columns, in the order in which a store takes them. */
export function columnRanges(columns: readonly ColumnDefinition[]): readonly ColumnRange[] {
  const range = ({ name, kind }: ColumnDefinition) =>
    kind === "family" ? familyRange(name) : { exact: columnPath(name) };
  // A column's path is the beginning of no other, so the names sort as the ranges do.
  return [...columns].sort((a, b) => (a.name < b.name ? -1 : 1)).map(range);
}

const cellsAtOnce = 256;
const maxSplitPoints = 256;

/**
 * Goes through the cells of a table, a page at a time. After each page it records its position, so
 * that a later call continues there. Two calls may run at the same time: what they do is the same.
 */
export async function runPass(registry: Registry, pass: Pass, options: PassOptions): Promise<PassResult> {
  return new RunningPass(registry, pass, options).run();
}

/** A migration or a drop that was interrupted, or is running now. */
export interface UnfinishedPass {
  readonly kind: PassKind;
  readonly table: string;
  /** The column that is dropped. Undefined for a migration, and if the table is dropped. */
  readonly column?: string | undefined;
  /** Cells visited, and cells rewritten or removed, so far. */
  readonly scanned: number;
  readonly changed: number;
}

/** Lists the migrations and drops that have begun and not ended. Sweeps for expired cells repeat anyway. */
export async function unfinishedPasses({ context }: Registry): Promise<readonly UnfinishedPass[]> {
  const reader = new SnapshotReader(context, await currentTimestamp(context));
  const read = (start?: Position) =>
    reader.range({ table: systemTable, start, end: passRows.end, columns: allColumns });
  const found: UnfinishedPass[] = [];
  for await (const page of pages(read, passRows.start)) {
    for (const { row, cells } of page.rows) {
      const value = cells[0]?.value;
      if (value === undefined || passOf(row).kind === "expire") continue;
      const { scanned, changed } = decodePass(value);
      found.push({ ...passOf(row), scanned, changed });
    }
  }
  return found;
}

class RunningPass {
  readonly #registry: Registry;
  readonly #pass: Pass;
  readonly #options: PassOptions;
  readonly #pace: Pace;
  #state: PassRecord;
  #splitPoints: readonly Uint8Array[] = [];
  #recordedAt: number;

  constructor(registry: Registry, pass: Pass, options: PassOptions) {
    this.#registry = registry;
    this.#pass = pass;
    this.#options = options;
    const { environment } = registry.context;
    this.#pace = new Pace(environment, options.rate);
    this.#recordedAt = environment.monotonic();
    this.#state = newPass(environment.uniqueId(), pass.edition);
  }

  async run(): Promise<PassResult> {
    const { store } = this.#registry.context;
    this.#splitPoints = await store.splitPoints(this.#pass.table, maxSplitPoints);
    if (!this.#pass.looksOnly) await this.#begin();
    const continued = this.#state.row !== undefined;
    await this.#report();
    for (;;) {
      throwIfAborted(this.#options.signal, this.#pass.doing);
      await this.#pace.wait(this.#options.signal, this.#pass.doing);
      const next = await this.#page();
      if (!this.#pass.looksOnly && (next === undefined || this.#isRecordDue())) {
        await this.#record(next === undefined);
      }
      await this.#report();
      if (next === undefined) break;
      await eventLoopTurn(this.#registry.context.environment);
    }
    const { scanned, changed, failed } = this.#state;
    return { scanned, changed, failed, continued };
  }

  /** Continues the recorded pass, if it does the same. Otherwise records this one. */
  async #begin(): Promise<void> {
    await this.#change((stored) => {
      const before = stored === undefined ? undefined : decodePass(stored);
      if (before?.edition === this.#pass.edition) {
        this.#state = before;
        return stored;
      }
      return encodePass(this.#state);
    });
  }

  #isRecordDue(): boolean {
    const now = this.#registry.context.environment.monotonic();
    if (now - this.#recordedAt < (this.#pass.recordEveryMs ?? 0)) return false;
    this.#recordedAt = now;
    return true;
  }

  /** Records the position, or removes the record at the end. */
  async #record(isEnd: boolean): Promise<void> {
    await this.#change((stored) => {
      // Another call of the same pass has ended it, or a different one has begun.
      if (stored === undefined || decodePass(stored).id !== this.#state.id) return stored;
      return isEnd ? undefined : encodePass(this.#state);
    });
  }

  async #change(change: (stored: Uint8Array | undefined) => Uint8Array | undefined): Promise<void> {
    const { kind, table } = this.#pass;
    const cell = passCell(kind, this.#pass);
    await this.#registry.retrying(async () => {
      const tx = await this.#registry.systemTransaction(`${kind} ${table}`, this.#options.signal);
      try {
        const stored = await this.#registry.read(tx, cell);
        const value = change(stored);
        if (value !== stored) tx.write({ ...cell, value });
        await tx.commit();
      } finally {
        tx.rollback();
      }
    }, this.#options.signal);
  }

  /** Handles one page. Returns where the next one begins. */
  async #page(): Promise<Position | undefined> {
    const { context } = this.#registry;
    const { table, columns, doing } = this.#pass;
    const { row, column } = this.#state;
    const at = await currentTimestamp(context);
    // The page's bytes are used after its reads, so collection must not count them as unused.
    const unregister = context.active.register(at);
    try {
      const reader = new SnapshotReader(context, at, { signal: this.#options.signal });
      const start = row === undefined ? undefined : { row, column };
      const page = await reader.range({ table, start, columns, limit: this.#pace.atOnce(cellsAtOnce) });
      const cells: PassedCell[] = [];
      for (const { row, cells: found } of page.rows) {
        for (const { column, value, commit } of found)
          if (value !== undefined) cells.push({ table, row, column, value, commit });
      }
      for (let from = 0; from < cells.length; from += cellsAtOnce) {
        throwIfAborted(this.#options.signal, doing);
        const handled = await this.#pass.handle(cells.slice(from, from + cellsAtOnce));
        if (handled === undefined) return undefined;
        this.#count(handled.changed, handled.failed);
      }
      const { next } = page;
      this.#state = {
        ...this.#state,
        row: next === undefined ? undefined : Buffer.from(next.row),
        column: next?.column === undefined ? undefined : Buffer.from(next.column),
        scanned: this.#state.scanned + cells.length,
      };
      return next;
    } finally {
      unregister();
    }
  }

  #count(changed: number, failed: number): void {
    this.#state = {
      ...this.#state,
      changed: this.#state.changed + changed,
      failed: this.#state.failed + failed,
    };
    this.#pace.count(changed);
  }

  async #report(): Promise<void> {
    const { onProgress } = this.#options;
    if (onProgress === undefined) return;
    const { row, scanned, changed } = this.#state;
    const points = this.#splitPoints;
    const passed = row === undefined ? 0 : points.filter((point) => Buffer.compare(point, row) <= 0).length;
    const share = points.length === 0 ? undefined : passed / (points.length + 1);
    await onProgress({ table: this.#pass.table, scanned, changed, share });
  }
}
