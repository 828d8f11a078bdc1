import type { Environment } from "../environment/index.js";
import type { EventCell, EventMap, TransactionSpan } from "../events/index.js";
import { isSystemPath } from "../schema/index.js";
import type { Columns } from "../store/index.js";
import type { WriteBuffer } from "./buffer.js";
import type { Hint, TransactionContext } from "./context.js";
import type { CommitHooks } from "./steps.js";

/** Maximum number of spans per transaction. Further spans are dropped. */
const maxSpans = 128;
/**
 * Maximum number of reads in a trace. It is less than `maxSpans`, to leave room for the steps of
 * the commit.
 */
const maxReadSpans = 96;
/** Maximum number of read cells, and of written cells, in a trace. */
const maxCells = 64;

const everything = new Uint8Array(0);

/**
 * Records what one transaction does and how long it takes. It exists only if the event
 * `transaction` has a listener, and that event is its only use.
 */
export class TransactionTrace {
  readonly #environment: Environment;
  readonly #begunAt: number;
  readonly spans: TransactionSpan[] = [];
  readonly read: EventCell[] = [];
  readonly written: EventCell[] = [];
  readonly hinted: EventCell[] = [];
  /** Count of all cells and rows that were read, including those that `read` has no room for. */
  reads = 0;
  writes = 0;
  hints = 0;
  #isOver = false;

  constructor(environment: Environment, begunAt: number) {
    this.#environment = environment;
    this.#begunAt = begunAt;
  }

  /** Milliseconds since the transaction began. */
  now(): number {
    return this.#environment.monotonic() - this.#begunAt;
  }

  span(kind: TransactionSpan["kind"], name: string, fromMs: number, cell: EventCell | undefined): void {
    const most = kind === "read" ? maxReadSpans : maxSpans;
    if (this.#isOver || this.spans.length >= most) return;
    this.spans.push({ kind, name, fromMs, toMs: this.now(), cell });
  }

  /** Records a read of cells of one row. Skips the protocol's own columns. */
  readRow(table: string, row: Uint8Array, columns: Columns, fromMs: number): void {
    let first: EventCell | undefined;
    for (const range of columns) {
      const column = columnOf(range);
      if (isSystemPath(column)) continue;
      const cell = { table, row, column };
      first ??= cell;
      this.#addRead(cell);
    }
    if (first !== undefined) this.span("read", "get", fromMs, first);
  }

  /** Records a read of a page of rows. */
  readRange(
    table: string,
    start: Uint8Array | undefined,
    columns: Columns,
    rows: readonly { readonly row: Uint8Array }[],
    fromMs: number,
  ): void {
    const [range] = columns;
    const column = range === undefined ? everything : columnOf(range);
    this.reads += rows.length;
    // Copies, because the store may only have lent the rows.
    for (const { row } of rows.slice(0, maxCells - this.read.length)) {
      this.read.push({ table, row: Buffer.from(row), column });
    }
    this.span("read", "scan", fromMs, {
      table,
      row: start ?? Buffer.from(rows[0]?.row ?? everything),
      column,
    });
  }

  #addRead(cell: EventCell): void {
    this.reads++;
    if (this.read.length < maxCells) this.read.push(cell);
  }

  /** Records the buffered writes before the transaction clears its buffer. */
  keepWrites(buffer: WriteBuffer): void {
    this.writes = buffer.size;
    for (const { table, row, column } of buffer.all()) {
      if (this.written.length === maxCells) return;
      if (!isSystemPath(column)) this.written.push({ table, row, column });
    }
  }

  keepHints(hints: readonly Hint[]): void {
    this.hints = hints.length;
    for (const { cell } of hints.slice(0, maxCells)) this.hinted.push(cell);
  }

  /** A context that records each step until the transaction ends. */
  around(context: TransactionContext): TransactionContext {
    const { hooks } = context;
    const traced: CommitHooks = {
      ...(hooks.read === undefined ? {} : { read: (info) => hooks.read?.(info) }),
      step: async (name, info, run) => {
        const fromMs = this.now();
        try {
          return await hooks.step(name, info, run);
        } finally {
          this.span("step", name, fromMs, info.address);
        }
      },
    };
    return { ...context, hooks: traced };
  }

  end(): void {
    this.#isOver = true;
  }
}

/**
 * Returns the path of a column, or the family's name for a range of columns in one family. Returns
 * no bytes for a range that spans families.
 */
function columnOf(range: Columns[number]): Uint8Array {
  if ("exact" in range) return range.exact;
  const end = range.start.indexOf(0);
  return end < 0 ? everything : range.start.subarray(0, end);
}

/** The part of a trace that goes into the event. */
export function traced(
  trace: TransactionTrace,
): Pick<EventMap["transaction"], "spans" | "reads" | "read" | "cells" | "written" | "hints" | "hinted"> {
  const { spans, reads, read, writes, written, hints, hinted } = trace;
  return { spans, reads, read, cells: writes, written, hints, hinted };
}
