import type { AnomalyKind } from "../../../src/testing/history/check/anomaly.js";
import type {
  CellName,
  History,
  HistoryAudit,
  RecordedOperation,
  RecordedOutcome,
  RecordedTransaction,
} from "../../../src/testing/history/history.js";

type Value = number | undefined;

const text = (value: Value) => (value === undefined ? undefined : String(value));

/** Returns a cell in the only column of the only table of hand-made histories. */
export function cell(row: string): CellName {
  return { table: "t", row, column: "v" };
}

/** An operation of a transaction. Operations get their moments when the history is built. */
type Step = (tick: () => number) => RecordedOperation;

export function read(row: string, value: Value): Step {
  return (tick) => ({
    type: "read",
    cell: cell(row),
    value: text(value),
    invoked: tick(),
    completed: tick(),
  });
}

export function write(row: string, value: Value): Step {
  return (tick) => ({ type: "write", cell: cell(row), value: text(value), at: tick() });
}

/** A range of rows that returned these cells and no others. */
export function scan(
  rows: { readonly start: string; readonly end?: string; readonly reverse?: boolean },
  ...shown: readonly (readonly [row: string, value: number])[]
): Step {
  return (tick) => ({
    type: "range",
    table: "t",
    rows: { start: rows.start, end: rows.end },
    columns: { start: "v", end: "v\0" },
    reverse: rows.reverse ?? false,
    cells: shown.map(([row, value]) => ({ row, column: "v", value: String(value) })),
    invoked: tick(),
    completed: tick(),
  });
}

export interface HandMade {
  readonly start: number;
  /**
   * Commit timestamp of a transaction that was reported as committed. Default: none, for a
   * read-only transaction that was reported as committed.
   */
  readonly commit?: number;
  readonly outcome?: "conflicted" | "failed" | "unknown";
  readonly serializable?: boolean;
  readonly client?: string;
  /**
   * Whether the start and end moments are known. If so, the transaction began after all those
   * before it. Default: true if a client is named.
   */
  readonly timed?: boolean;
  readonly steps: readonly Step[];
}

/**
 * Builds a history by hand: transactions T1, T2, ... in the order given, with their operations one
 * after the other.
 */
export function makeHistory(...made: readonly HandMade[]): History {
  let now = 0;
  const tick = () => ++now;
  const transactions = made.map((each, place): RecordedTransaction => {
    const { start, commit, client, serializable, steps, timed = client !== undefined } = each;
    const outcome: RecordedOutcome =
      each.outcome === undefined ? { type: "committed", commitTimestamp: commit } : { type: each.outcome };
    const begun = tick();
    const operations = steps.map((step) => step(tick));
    const ended = tick();
    return {
      id: place + 1,
      client: client ?? `client ${place + 1}`,
      kind: "transaction",
      isolation: serializable ? "serializable" : "snapshot",
      startTimestamp: start,
      begun: timed ? begun : undefined,
      ended: timed ? ended : undefined,
      outcome,
      operations,
    };
  });
  return { transactions };
}

type AuditEntry = readonly [start: number, commit: number, value: Value];

/** Returns an audit with these versions, by row. */
export function makeAudit(
  cells: Readonly<Record<string, readonly AuditEntry[]>>,
  safepoint = 0,
): HistoryAudit {
  return {
    safepoint,
    cells: Object.entries(cells).map(([row, versions]) => ({
      cell: cell(row),
      versions: versions.map(([startTimestamp, commitTimestamp, value]) => ({
        startTimestamp,
        commitTimestamp,
        value: text(value),
      })),
    })),
  };
}

/** A hand-made history, and the kinds of anomaly in it. */
export interface Case {
  readonly name: string;
  readonly kinds: readonly AnomalyKind[];
  readonly history: History;
  readonly audit?: HistoryAudit;
}

/** The initial contents. */
export const setup = { start: 1, commit: 2, steps: [write("x", 0), write("y", 0)] };
