import type { Environment } from "../../environment/index.js";
import { within } from "../../oracle/index.js";
import { maxTransactions } from "../recording/recorder.js";
import type {
  HeatMetric,
  HeatSample,
  RecordedTransaction,
  Report,
  ReportRequest,
} from "../recording/report.js";
import { Shared } from "./shared.js";
import type { ReportSource } from "./source.js";

const everyMs = 900;
const patienceMs = 3_000;
/** A report is forgotten if no newer one comes for 15 s. */
const freshMs = 15_000;
const maxWinners = 10_000;
const maxAsked = 200;
const maxListened = 64;
const maxHeat = 64;

/** The reports of all processes. It asks for them on demand, at most once a second. */
export class GatheredReports {
  readonly sources: readonly ReportSource[];
  readonly #environment: Environment;
  readonly #closing = new AbortController();
  readonly #shared: Shared<readonly Report[]>;
  readonly #reports = new Map<string, { readonly report: Report; readonly receivedAt: number }>();
  #transactions: RecordedTransaction[] = [];
  readonly #winners = new Map<number, string>();
  readonly #asked = new Set<number>();
  readonly #heat = new Map<string, Shared<readonly HeatSample[]>>();
  readonly #failures = new Map<string, string>();
  readonly #listeners = new Set<(transactions: readonly RecordedTransaction[]) => void>();

  constructor(sources: readonly ReportSource[], environment: Environment) {
    this.sources = sources;
    this.#environment = environment;
    this.#shared = new Shared(environment, everyMs, () => this.#look());
  }

  close(): void {
    this.#closing.abort();
    for (const source of this.sources) source.close?.();
  }

  /** The newest report of each process. */
  reports(): Promise<readonly Report[]> {
    return this.#shared.get();
  }

  /** The newest transactions, newest first. */
  async transactions(): Promise<readonly RecordedTransaction[]> {
    await this.reports();
    return this.#transactions;
  }

  /** Calls `listener` with new transactions, newest first. Returns a function that stops it. */
  onTransactions(listener: (transactions: readonly RecordedTransaction[]) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /**
   * The name of the transaction at a timestamp. If the name is unknown, the next request asks the
   * processes for it.
   */
  winner(timestamp: number | undefined): string | undefined {
    if (timestamp === undefined) return undefined;
    const known = this.#winners.get(timestamp);
    if (known === undefined && this.#asked.size < maxAsked) this.#asked.add(timestamp);
    return known;
  }

  /** Samples of rows for a heat map. */
  heat(table: string, metric: HeatMetric): Promise<readonly HeatSample[]> {
    const key = `${metric} ${table}`;
    let shared = this.#heat.get(key);
    if (shared === undefined) {
      shared = new Shared(this.#environment, everyMs, () => this.#lookForHeat(table, metric));
      this.#heat.set(key, shared);
      if (this.#heat.size > maxHeat) this.#heat.delete(this.#heat.keys().next().value!);
    }
    return shared.get();
  }

  async #lookForHeat(table: string, metric: HeatMetric): Promise<readonly HeatSample[]> {
    const reports = await this.#ask({ after: await this.#everything(), who: [], heat: { table, metric } });
    return reports.flatMap((report) => report.heat);
  }

  /**
   * Returns, for each recorder, the number of its newest known transaction. A request with these
   * numbers as `after` gets none of the known transactions again.
   */
  async #everything(): Promise<Record<string, number>> {
    return Object.fromEntries((await this.reports()).map(({ recorder, newest }) => [recorder, newest]));
  }

  async #look(): Promise<readonly Report[]> {
    const after = Object.fromEntries([...this.#reports].map(([name, { report }]) => [name, report.newest]));
    const who = [...this.#asked];
    this.#asked.clear();
    const reports = await this.#ask({ after, who });
    const receivedAt = this.#environment.monotonic();
    for (const report of reports) this.#reports.set(report.recorder, { report, receivedAt });
    for (const [name, known] of this.#reports) {
      if (receivedAt - known.receivedAt > freshMs) this.#reports.delete(name);
    }
    this.#learnWinners(reports);
    this.#learnTransactions(reports);
    return [...this.#reports.values()].map(({ report }) => report);
  }

  #learnWinners(reports: readonly Report[]): void {
    for (const { winners } of reports) {
      for (const [timestamp, name] of Object.entries(winners)) this.#winners.set(Number(timestamp), name);
    }
    while (this.#winners.size > maxWinners) this.#winners.delete(this.#winners.keys().next().value!);
  }

  #learnTransactions(reports: readonly Report[]): void {
    const learned = reports.flatMap(({ transactions }) => transactions).sort((a, b) => b.endedAt - a.endedAt);
    if (learned.length === 0) return;
    this.#transactions = [...learned, ...this.#transactions]
      .sort((a, b) => b.endedAt - a.endedAt)
      .slice(0, maxTransactions);
    for (const listener of this.#listeners) listener(learned.slice(0, maxListened));
  }

  /** Asks all sources. A source that does not answer in time is left out. */
  async #ask(request: ReportRequest): Promise<readonly Report[]> {
    const bounds = {
      environment: this.#environment,
      timeoutMs: patienceMs,
      signal: this.#closing.signal,
    };
    const answers = this.sources.map(async (source) => {
      try {
        const ask = (signal: AbortSignal) => source.reports(request, signal);
        const reports = await within({ ...bounds, doing: `Asking ${source.name}` }, ask);
        this.#failures.delete(source.name);
        return reports;
      } catch (error) {
        this.#failures.set(source.name, error instanceof Error ? error.message : String(error));
        return [];
      }
    });
    return (await Promise.all(answers)).flat();
  }

  /** The sources that did not answer the last request, and why. */
  get failures(): readonly { readonly name: string; readonly error: string }[] {
    return [...this.#failures].map(([name, error]) => ({ name, error }));
  }
}
