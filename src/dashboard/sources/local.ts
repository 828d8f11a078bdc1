import type { Database } from "../../database/index.js";
import type { Environment } from "../../environment/index.js";
import type { EventCell } from "../../events/index.js";
import type { CellName } from "../api/index.js";
import { Recorder, type Remembered } from "../recording/recorder.js";
import type { RecordedTransaction, Report, ReportRequest } from "../recording/report.js";
import { cellName } from "../text/cells.js";
import type { KnownTables } from "../text/tables.js";
import type { Shared } from "./shared.js";
import type { ReportSource } from "./source.js";

/** The most transactions of each list in one report. */
const maxTold = 150;

/** Reports about this process. It listens to the events of its database until it is closed. */
export class LocalSource implements ReportSource {
  readonly name = "this process";
  readonly #db: Database;
  readonly #tables: Shared<KnownTables>;
  readonly #environment: Environment;
  readonly #recorder: Recorder;

  constructor(db: Database, tables: Shared<KnownTables>, environment: Environment) {
    this.#db = db;
    this.#tables = tables;
    this.#environment = environment;
    this.#recorder = new Recorder(db, environment);
  }

  close(): void {
    this.#recorder.close();
  }

  async reports(request: ReportRequest): Promise<readonly Report[]> {
    return [await this.report(request)];
  }

  /**
   * Reports the transactions that the asker does not know yet, and the figures of the last minutes.
   */
  async report({ after, who, heat }: ReportRequest): Promise<Report> {
    const recorder = this.#recorder;
    const tables = await this.#tables.get();
    const remembered = recorder.transactions(after[recorder.name] ?? 0, maxTold);
    const known = who.flatMap((timestamp) => {
      const name = recorder.winners.of(timestamp);
      return name === undefined ? [] : [[timestamp, name] as const];
    });
    return {
      recorder: recorder.name,
      process: this.#environment.processName,
      at: this.#environment.now(),
      since: recorder.since,
      newest: recorder.newest,
      transactions: remembered.map((each) => this.#shown(tables, each)),
      ...recorder.figures(),
      observers: recorder.observers(),
      pairs: recorder.conflicts().map((pair) => ({ ...pair, cell: cellName(tables, pair.cell) })),
      flows: recorder.flows(),
      winners: Object.fromEntries(known),
      heat: heat === undefined ? [] : recorder.heat(heat.table, heat.metric),
      heatTotals: heat === undefined ? undefined : recorder.heatTotals(heat.metric),
      ...this.#db.activity,
      memoryBytes: process.memoryUsage.rss(),
    };
  }

  #shown(tables: KnownTables, { number, endedAt, event }: Remembered): RecordedTransaction {
    const name = namer(tables);
    const { cause, conflict, error } = event;
    const { startTimestamp, commitTimestamp, outcome, label, phases, durationMs, reads, cells } = event;
    return {
      id: `${this.#recorder.name}:${number}`,
      process: this.#environment.processName,
      startTimestamp,
      commitTimestamp,
      outcome,
      label: label === cause?.observer ? undefined : label,
      observer: cause?.observer,
      phases,
      endedAt: Math.round(endedAt),
      durationMs,
      reads,
      cells,
      cause: cause && { cell: name(cause.cell), commitTimestamp: cause.commitTimestamp },
      conflict: conflict && {
        cell: conflict.cell && name(conflict.cell),
        winnerTimestamp: conflict.winnerTimestamp,
        winner: this.#recorder.winners.of(conflict.winnerTimestamp),
      },
      error: error === undefined ? undefined : errorText(error),
      spans: event.spans.map(({ kind, name: span, fromMs, toMs, cell }) => {
        return { name: span, fromMs, toMs, cell: cell && name(cell), kind };
      }),
      read: distinct(event.read.map(name)),
      written: distinct(event.written.map(name)),
    };
  }
}

/** Names cells, and computes each name once. */
function namer(tables: KnownTables): (cell: EventCell) => CellName {
  const names = new Map<EventCell, CellName>();
  return (cell) => {
    const known = names.get(cell) ?? cellName(tables, cell);
    names.set(cell, known);
    return known;
  };
}

function distinct(cells: readonly CellName[]): readonly CellName[] {
  return [...new Map(cells.map((cell) => [`${cell.table}\0${cell.row}\0${cell.column}`, cell])).values()];
}

const longestError = 2_000;

function errorText(error: unknown): string {
  const text = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  return text.slice(0, longestError);
}
