/** The command: loads sources, maintains the index, and serves search. See `options.ts`. */
import { readFile } from "node:fs/promises";
import { CommanderError } from "commander";
import { InvalidArgumentError, type MetricsSnapshot, PercolatorError } from "percolatordb";
import { BulkRefusedError } from "./load/bulk.js";
import { MemoryWatch } from "./load/memory.js";
import { loadStage, ProgressLine } from "./load/progress.js";
import type { LoadReport } from "./load/report.js";
import { type Options, readOptions } from "./options.js";
import {
  megabytes,
  printLoad,
  printProblems,
  printTruncated,
  printVerification,
  printWork,
} from "./print.js";
import { SearchServer } from "./server/server.js";
import { openDefaultSource, openSource, type Source, SourceError } from "./sources/index.js";
import { isEqual, verifyIndex } from "./twin/verify.js";
import { WebIndex } from "./webindex.js";

/**
 * If search is served during a load, the load waits after this many pages until all of them can be
 * found. With a smaller number each page would cost more work.
 */
const visibleEvery = 2_000;

const exitCodes = { done: 0, data: 1, usage: 2 } as const;
type ExitCode = number;

/** Stops the work on the first signal. A second signal ends the process at once. */
class Interruption {
  readonly #controller = new AbortController();
  exitCode: ExitCode = exitCodes.done;

  constructor() {
    for (const [name, number] of [
      ["SIGINT", 2],
      ["SIGTERM", 15],
    ] as const) {
      process.on(name, () => {
        if (this.signal.aborted) process.exit(128 + number);
        this.exitCode = 128 + number;
        this.#controller.abort(new Error("interrupted"));
      });
    }
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  get happened(): boolean {
    return this.signal.aborted;
  }

  /** Resolves on the first signal. */
  wait(): Promise<void> {
    if (this.happened) return Promise.resolve();
    return new Promise((resolve) => this.signal.addEventListener("abort", () => resolve(), { once: true }));
  }
}

async function main(args: readonly string[]): Promise<ExitCode> {
  const options = readOptions(args);
  const interruption = new Interruption();
  const { signal } = interruption;
  const given = options.sources.map((path) => openSource(path, { base: options.base, signal }));
  const isDefault = given.length === 0 && !options.serve;
  const sources = isDefault ? [await openDefaultSource(process.cwd(), { signal })] : await Promise.all(given);
  const memory = new MemoryWatch();
  const { concurrency, threads, serve } = options;
  await using index = await WebIndex.open(options.data, {
    concurrency,
    threads,
    create: !serve,
    works: !serve,
  });
  const session = new Session(options, index, signal);
  if (options.once) {
    const code = await session.loadAll(sources);
    if (memory.highest !== undefined)
      console.log(`memory: ${megabytes(memory.highest)} anonymous at the most`);
    return interruption.happened ? interruption.exitCode : code;
  }
  const server = await session.serve();
  console.log(`Search at ${server.url}\nDashboard at ${server.dashboardUrl}`);
  // A failed load does not end the search.
  const loading = session.loadAll(sources).catch(explain);
  await interruption.wait();
  await server.stop();
  return loading;
}

/** One run of the command. */
class Session {
  readonly #options: Options;
  readonly #index: WebIndex;
  readonly #signal: AbortSignal;
  readonly #progress = new ProgressLine();

  constructor(options: Options, index: WebIndex, signal: AbortSignal) {
    this.#options = options;
    this.#index = index;
    this.#signal = signal;
  }

  /**
   * Loads, indexes and reports on one source after another. Without sources, only reports.
   * Returns the exit code. The exit code is 0 if a signal interrupted the load.
   */
  async loadAll(sources: readonly Source[]): Promise<ExitCode> {
    let code: ExitCode = exitCodes.done;
    try {
      const inBulk = this.#options.bulk ? firstOf(sources) : [];
      const isSound = inBulk.length === 0 ? undefined : await this.#bulkLoad(inBulk);
      if (isSound === false) code = exitCodes.data;
      for (const source of isSound === undefined ? sources : sources.slice(inBulk.length))
        if (!(await this.#load(source))) code = exitCodes.data;
      if (sources.length === 0) {
        if (!(await this.#verify(undefined))) code = exitCodes.data;
      }
      const parked = await this.#index.parked();
      if (parked.length > 0) {
        console.error(
          [
            "Parked after the last attempt (retry with `percolator parked DATA --retry`):",
            ...parked.map((change) => `  ${change}`),
          ].join("\n"),
        );
        code = exitCodes.data;
      }
    } catch (error) {
      if (!this.#signal.aborted) throw error;
      this.#progress.clear();
      console.error("Interrupted. What was loaded is kept; the same command goes on from here.");
    } finally {
      this.#progress.stop();
    }
    return code;
  }

  /** Undefined if the sources were loaded in bulk before, and must be loaded as usual. */
  async #bulkLoad(sources: readonly Source[]): Promise<boolean | undefined> {
    const before = this.#index.metrics;
    const start = performance.now();
    const report = await this.#index.bulkLoad(sources, {
      signal: this.#signal,
      onStage: (stage) => this.#progress.set(stage),
    });
    return report && this.#report(report, sources.at(-1)!, before, start);
  }

  async #load(source: Source): Promise<boolean> {
    const before = this.#index.metrics;
    const start = performance.now();
    const report = await this.#index.load(source, {
      signal: this.#signal,
      settleEvery: this.#options.once ? undefined : visibleEvery,
      onItem: (item, { pages }) => this.#progress.set(loadStage(source.path, item, pages)),
    });
    return this.#report(report, source, before, start);
  }

  /** Waits for the observers, and reports. False if something is wrong. */
  async #report(
    report: LoadReport,
    source: Source,
    before: MetricsSnapshot,
    start: number,
  ): Promise<boolean> {
    await this.#settle();
    const seconds = (performance.now() - start) / 1_000;
    const { live } = await this.#index.count();
    this.#progress.clear();
    console.log(`${printLoad(report, seconds, live)}\n${printWork(before, this.#index.metrics)}`);
    const truncated = printTruncated(await this.#index.truncated());
    if (truncated !== undefined) console.log(truncated);
    const problems = printProblems(report);
    if (problems !== undefined) console.error(problems);
    return (await this.#verify(source)) && report.problemCount === 0;
  }

  /** Waits for the observers. Meanwhile shows how many changes they must still handle. */
  async #settle(): Promise<void> {
    let highest = 0;
    await this.#index.settle({
      signal: this.#signal,
      onProgress: ({ waiting }) => {
        highest = Math.max(highest, waiting);
        const part = highest === 0 ? undefined : 1 - waiting / highest;
        this.#progress.set({ doing: "indexing", pages: 0, part, waiting });
      },
    });
  }

  /** Compares the index with its twin, and with the last loaded source if there is one. */
  async #verify(source: Source | undefined): Promise<boolean> {
    if (!this.#options.verify) return true;
    this.#progress.set({
      doing: "comparing with an index built from scratch",
      pages: 0,
      part: undefined,
      waiting: undefined,
    });
    const { base, data } = this.#options;
    const options = { source, base, signal: this.#signal };
    const verification = await verifyIndex(this.#index.db, data, options);
    this.#progress.clear();
    console.log(printVerification(verification));
    return isEqual(verification);
  }

  async serve(): Promise<SearchServer> {
    const { host, port, data, dashboardTokenFile, dashboardWritable } = this.#options;
    return SearchServer.start(this.#index.db, {
      host,
      port,
      dashboard: {
        location: data,
        token: dashboardTokenFile && (await readFile(dashboardTokenFile, "utf8")).trim(),
        writable: dashboardWritable,
      },
      loading: () => this.#progress.text,
      waiting: (signal) => this.#index.waiting(1_000, { signal }),
      onError: (error) => console.error(error),
    });
  }
}

/**
 * The sources that `--bulk` loads: all archives before the first folder, or a folder that comes
 * first. A later folder deletes the pages that it does not list.
 */
function firstOf(sources: readonly Source[]): readonly Source[] {
  const folder = sources.findIndex(({ kind }) => kind !== "archive");
  return folder < 0 ? sources : sources.slice(0, Math.max(1, folder));
}

/** Prints an error and returns its exit code. */
function explain(error: unknown): ExitCode {
  if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.done : exitCodes.usage;
  if (
    error instanceof SourceError ||
    error instanceof InvalidArgumentError ||
    error instanceof BulkRefusedError
  ) {
    console.error(`error: ${error.message}`);
    return exitCodes.usage;
  }
  const said = error instanceof PercolatorError || (error as NodeJS.ErrnoException)?.code !== undefined;
  console.error(said ? `error: ${(error as Error).message}` : error);
  return exitCodes.data;
}

process.exitCode = await main(process.argv.slice(2)).catch(explain);
