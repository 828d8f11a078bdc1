import type { Environment } from "../../environment/index.js";
import { within } from "../../oracle/index.js";
import { KeptTransactions, type TransactionList } from "../recording/kept-transactions.js";
import type {
  HeatMetric,
  HeatSample,
  RecordedTransaction,
  Report,
  ReportRequest,
} from "../recording/report.js";
import { windowMs } from "../recording/report.js";
import { sumByKey } from "../recording/sums.js";
import { Shared } from "./shared.js";
import type { ReportSource } from "./source.js";

const everyMs = 900;
/** How long a source may take. Others wait for it only if it answered the request before. */
const patienceMs = 2_000;
/** A report is forgotten if no newer one comes for 15 s. */
const freshMs = 15_000;
const maxWriters = 10_000;
const maxAsked = 200;
/** As many as the history of a cell shows. */
const maxNames = 500;
const maxListened = 64;
const maxHeat = 64;

/** The activity in a table, and how much of it each table had, the most active first. */
interface Heat {
  readonly samples: readonly HeatSample[];
  readonly totals: readonly { readonly table: string; readonly count: number }[];
}

/** The transaction at a timestamp, as far as its process remembers it. */
export interface KnownWriter {
  /** Its observer, its label, or `transaction`. */
  readonly name: string;
  readonly isObserver: boolean;
  readonly process: string;
}

/** The reports of all processes. It asks for them on demand, at most once a second. */
export class GatheredReports {
  readonly sources: readonly ReportSource[];
  readonly #environment: Environment;
  readonly #closing = new AbortController();
  readonly #shared: Shared<readonly Report[]>;
  readonly #reports = new Map<string, { readonly report: Report; readonly receivedAt: number }>();
  readonly #transactions = new KeptTransactions<RecordedTransaction>((each) => each, windowMs);
  readonly #writers = new Map<number, KnownWriter>();
  readonly #asked = new Set<number>();
  readonly #heat = new Map<string, Shared<Heat>>();
  readonly #failures = new Map<ReportSource, string>();
  /** Sources that others do not wait for, and that have not answered the last request yet. */
  readonly #late = new Set<ReportSource>();
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

  /** The transactions of a list, newest first; the slow ones slowest first. */
  async transactions(list: TransactionList): Promise<readonly RecordedTransaction[]> {
    await this.reports();
    return this.#transactions.list(list, this.#environment.now());
  }

  /** Every transaction that is still known, in no order. */
  async everyTransaction(): Promise<readonly RecordedTransaction[]> {
    await this.reports();
    return [...this.#transactions.all()];
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
    const known = this.#writers.get(timestamp);
    if (known === undefined && this.#asked.size < maxAsked) this.#asked.add(timestamp);
    return known?.name;
  }

  /**
   * Who wrote at these timestamps, as far as a process remembers it: at most the first 500. Asks the
   * processes for what is not known here.
   */
  async writers(timestamps: readonly number[]): Promise<ReadonlyMap<number, KnownWriter>> {
    const wanted = timestamps.slice(0, maxNames);
    const who = wanted.filter((timestamp) => !this.#writers.has(timestamp));
    if (who.length > 0) this.#learnWriters(await this.#ask({ after: await this.#everything(), who }));
    return new Map(
      wanted.flatMap((timestamp) => {
        const writer = this.#writers.get(timestamp);
        return writer === undefined ? [] : [[timestamp, writer] as const];
      }),
    );
  }

  /** Samples of rows for a heat map. */
  heat(table: string, metric: HeatMetric): Promise<Heat> {
    const key = `${metric} ${table}`;
    let shared = this.#heat.get(key);
    if (shared === undefined) {
      shared = new Shared(this.#environment, everyMs, () => this.#lookForHeat(table, metric));
      this.#heat.set(key, shared);
      if (this.#heat.size > maxHeat) this.#heat.delete(this.#heat.keys().next().value!);
    }
    return shared.get();
  }

  async #lookForHeat(table: string, metric: HeatMetric): Promise<Heat> {
    const reports = await this.#ask({ after: await this.#everything(), who: [], heat: { table, metric } });
    const totals = reports.flatMap(({ heatTotals = {} }) =>
      Object.entries(heatTotals).map(([name, count]) => ({ table: name, count })),
    );
    return {
      samples: reports.flatMap((report) => report.heat),
      totals: sumByKey(
        totals,
        (each) => each.table,
        (sum, { count }) => ({ ...sum, count: sum.count + count }),
      ).toSorted((a, b) => b.count - a.count),
    };
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
    this.#learnWriters(reports);
    this.#learnTransactions(reports);
    return [...this.#reports.values()].map(({ report }) => report);
  }

  #learnWriters(reports: readonly Report[]): void {
    for (const { winners, process, observers } of reports) {
      for (const [timestamp, name] of Object.entries(winners))
        this.#writers.set(Number(timestamp), { name, isObserver: Object.hasOwn(observers, name), process });
    }
    while (this.#writers.size > maxWriters) this.#writers.delete(this.#writers.keys().next().value!);
  }

  #learnTransactions(reports: readonly Report[]): void {
    const learned = reports.flatMap(({ transactions }) => transactions).sort((a, b) => b.endedAt - a.endedAt);
    if (learned.length === 0) return;
    for (const transaction of learned.toReversed()) this.#transactions.add(transaction);
    for (const listener of this.#listeners) listener(learned.slice(0, maxListened));
  }

  /**
   * Asks all sources. A source that does not answer in time is left out. Requests after that do not
   * wait for it until it answers again, so that a process that is stopped does not hold up the views.
   */
  async #ask(request: ReportRequest): Promise<readonly Report[]> {
    const answers = this.sources.map((source) => {
      if (this.#late.has(source)) return [];
      const asked = this.#askOne(source, request);
      if (!this.#failures.has(source)) return asked;
      this.#late.add(source);
      void asked.finally(() => this.#late.delete(source));
      return [];
    });
    return (await Promise.all(answers)).flat();
  }

  async #askOne(source: ReportSource, request: ReportRequest): Promise<readonly Report[]> {
    const bounds = {
      environment: this.#environment,
      timeoutMs: patienceMs,
      signal: this.#closing.signal,
    };
    try {
      const ask = (signal: AbortSignal) => source.reports(request, signal);
      const reports = await within({ ...bounds, doing: `Asking ${source.name}` }, ask);
      this.#failures.delete(source);
      return reports;
    } catch (error) {
      this.#failures.set(source, error instanceof Error ? error.message : String(error));
      return [];
    }
  }

  /** The sources that did not answer the last request, and why. */
  get failures(): readonly { readonly name: string; readonly error: string }[] {
    return [...this.#failures].map(([{ name }, error]) => ({ name, error }));
  }
}
