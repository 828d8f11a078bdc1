import type { Environment } from "../../environment/index.js";
import type { EventCell } from "../../events/index.js";
import type { CellName } from "../api.js";
import type { Recorder, Remembered } from "../recording/recorder.js";
import type { ConflictReport, RecordedTransaction, Report, ReportRequest } from "../recording/report.js";
import { cellName } from "../text/cells.js";
import type { KnownTables, Tables } from "../text/tables.js";
import type { ReportSource } from "./source.js";

/** The most transactions in one report. */
const maxTold = 200;

export interface LocalOptions {
  readonly recorder: Recorder;
  readonly tables: Tables;
  readonly environment: Environment;
  readonly activity: () => { readonly running: number; readonly claims: number | undefined };
}

/** Reports about this process. */
export class LocalSource implements ReportSource {
  readonly name = "this process";
  readonly #options: LocalOptions;

  constructor(options: LocalOptions) {
    this.#options = options;
  }

  async reports(request: ReportRequest): Promise<readonly Report[]> {
    return [await this.report(request)];
  }

  /** What this process has seen since the last request. */
  async report({ after, who, heat }: ReportRequest): Promise<Report> {
    const { recorder, environment, activity } = this.#options;
    const tables = await this.#options.tables.current();
    const remembered = recorder.transactions(after[recorder.name] ?? 0, maxTold);
    const known = who.flatMap((timestamp) => {
      const name = recorder.winners.of(timestamp);
      return name === undefined ? [] : [[timestamp, name] as const];
    });
    return {
      recorder: recorder.name,
      process: environment.processName,
      at: environment.now(),
      since: recorder.since,
      newest: recorder.newest,
      transactions: remembered.map((each) => this.#shown(tables, each)),
      ...recorder.figures(),
      observers: recorder.observers(),
      pairs: recorder.conflicts().map((pair): ConflictReport => {
        const { cell, loser, winner, winnerTimestamp, count, lastAt } = pair;
        return { cell: cellName(tables, cell), loser, winner, winnerTimestamp, count, lastAt };
      }),
      flows: recorder.flows(),
      winners: Object.fromEntries(known),
      heat: heat === undefined ? [] : recorder.heat(heat.table, heat.metric),
      ...activity(),
      memoryBytes: process.memoryUsage.rss(),
    };
  }

  #shown(tables: KnownTables, { number, endedAt, event }: Remembered): RecordedTransaction {
    const name = namer(tables);
    const { cause, conflict, error } = event;
    const { startTimestamp, commitTimestamp, outcome, label, phases, durationMs, reads, cells } = event;
    return {
      id: `${this.#options.recorder.name}:${number}`,
      process: this.#options.environment.processName,
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
        winner: this.#options.recorder.winners.of(conflict.winnerTimestamp),
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
