import { backoffDelay, sleep, type Timer } from "../../environment/index.js";
import { ObserverError } from "../../errors/index.js";
import type { Cli } from "../cli.js";
import { exitCodes } from "../print/exit.js";
import { counted, oneLine } from "../print/layout.js";
import { Progress } from "../print/progress.js";
import { UsageError } from "../usage-error.js";
import { noRuns, type RunCounts } from "./worker-log.js";
import type { ProcessEnd, WorkerProcess } from "./worker-process.js";

export interface SupervisorOptions {
  readonly cli: Cli;
  /** How many are to run. */
  readonly processes: number;
  /** Where the dashboard of all of them is served. */
  readonly dashboard?: string | undefined;
  /** Starts the process of a number from 1. */
  readonly start: (number: number) => WorkerProcess;
  /** How long after a signal a process that has not ended is killed, in milliseconds. */
  readonly killAfterMs: number;
}

const restarting = { initialMs: 100, maximumMs: 10_000 };
/** A life that is shorter, in milliseconds, is a quick death. */
const quickMs = 10_000;
/** Quick deaths in a row after which a process is not started again. An observer that ends its process is parked before. */
const maxQuickDeaths = 12;
const progressMs = 250;
/** How long what a process that has ended printed last is waited for, in milliseconds. */
const printedMs = 1_000;

/** Runs a worker in several processes: starts anew those that die, hands signals on, and tells what they tell. */
export class Supervisor {
  readonly #options: SupervisorOptions;
  readonly #cli: Cli;
  readonly #progress: Progress;
  readonly #running = new Map<number, WorkerProcess>();
  /** Of processes that have ended. */
  readonly #runs: RunCounts = { ...noRuns };
  readonly #stopping = new AbortController();
  #restarts = 0;
  #timer: Timer | undefined;

  constructor(options: SupervisorOptions) {
    this.#options = options;
    this.#cli = options.cli;
    this.#progress = new Progress(options.cli);
  }

  /** Those that run, by number. */
  get running(): ReadonlyMap<number, WorkerProcess> {
    return this.#running;
  }

  /** Resolves when all have ended after a signal. */
  async run(): Promise<void> {
    const { processes, dashboard } = this.#options;
    const { signal } = this.#cli;
    const served = dashboard === undefined ? "" : `; dashboard at ${dashboard}`;
    await this.#tell("supervising", { processes, dashboard }, `starting ${processText(processes)}${served}`);
    if (this.#cli.err.isTerminal) this.#showProgress();
    const onSignal = () => this.#stop();
    signal.addEventListener("abort", onSignal, { once: true });
    if (signal.aborted) this.#stop();
    try {
      const numbers = Array.from({ length: processes }, (_, index) => index + 1);
      await this.#all(numbers.map((number) => this.#keep(number)));
    } finally {
      signal.removeEventListener("abort", onSignal);
      this.#timer?.cancel();
      this.#progress.end();
    }
    await this.#stopped();
  }

  /** When one of them cannot go on, none does. */
  async #all(kept: readonly Promise<void>[]): Promise<void> {
    try {
      await Promise.all(kept);
    } catch (error) {
      this.#stop();
      await Promise.allSettled(kept);
      throw error;
    }
  }

  #stop(): void {
    if (this.#stopping.signal.aborted) return;
    this.#stopping.abort();
    const { environment, endSignal = "SIGTERM" } = this.#cli;
    for (const process of this.#running.values()) process.kill(endSignal);
    const { killAfterMs } = this.#options;
    environment.setTimer(() => this.#kill(), killAfterMs, { background: true });
  }

  #kill(): void {
    for (const process of this.#running.values()) process.kill("SIGKILL");
  }

  get #isStopping(): boolean {
    return this.#stopping.signal.aborted;
  }

  /** Keeps one of the processes running, until all are to stop. */
  async #keep(number: number): Promise<void> {
    const { environment } = this.#cli;
    for (let quickDeaths = 0; !this.#isStopping; ) {
      const startedAt = environment.monotonic();
      const { end, isObsolete } = await this.#live(number);
      if (this.#isStopping) {
        if (end.code !== exitCodes.ok && this.#cli.exitCode !== exitCodes.obsolete)
          this.#cli.exitCode = exitCodes.data;
        return;
      }
      if (isObsolete) {
        // The same program would have nothing to run again.
        this.#cli.exitCode = exitCodes.obsolete;
        this.#stop();
        return;
      }
      quickDeaths = environment.monotonic() - startedAt < quickMs ? quickDeaths + 1 : 1;
      this.#giveUp(number, end, quickDeaths);
      this.#restarts++;
      const restartInMs = Math.round(backoffDelay(environment, restarting, quickDeaths));
      await this.#exited(number, end, restartInMs);
      await sleep(environment, restartInMs, this.#stopping.signal).catch(() => undefined);
    }
  }

  /** One life of a process: from its start to when all that it printed was told. */
  async #live(number: number): Promise<{ readonly end: ProcessEnd; readonly isObsolete: boolean }> {
    const process = this.#options.start(number);
    this.#running.set(number, process);
    const printed = Promise.all([
      this.#hand(number, process.output, "out"),
      this.#hand(number, process.errors, "err"),
    ]);
    // Where nobody reads what is printed, all are told to stop.
    printed.catch(() => undefined);
    const end = await process.ended;
    // A process that it has started itself, and left behind, may hold on to its output.
    const late = new AbortController();
    const waited = sleep(this.#cli.environment, printedMs, late.signal).catch(() => undefined);
    await Promise.race([printed.catch(() => undefined), waited]);
    late.abort();
    this.#running.delete(number);
    for (const outcome of outcomes) this.#runs[outcome] += process.runs[outcome];
    return { end, isObsolete: process.isObsolete };
  }

  /** Hands on what a process prints, with its number. */
  async #hand(number: number, lines: AsyncIterable<string>, to: "out" | "err"): Promise<void> {
    for await (const line of lines) {
      this.#progress.end();
      const text = this.#cli.json ? JSON.stringify(this.#numbered(number, line)) : `[${number}] ${line}`;
      await this.#cli[to].line(text);
    }
  }

  #numbered(number: number, line: string): object {
    const document = parsed(line);
    if (document !== undefined) return { ...document, process: number };
    return { event: "output", time: this.#now(), text: line, process: number };
  }

  /** Throws where a process is not worth being started again. */
  #giveUp(number: number, end: ProcessEnd, quickDeaths: number): void {
    if (end.error !== undefined) {
      throw new UsageError(`A process of the worker cannot be started: ${end.error.message}`);
    }
    if (end.code === exitCodes.usage) {
      throw new UsageError(`The worker cannot be meant so: see above what process ${number} says.`);
    }
    if (quickDeaths < maxQuickDeaths) return;
    throw new ObserverError(
      `Process ${number} of the worker died ${quickDeaths} times within ${quickMs / 1_000} seconds of its start, at last with ` +
        `${describeEnd(end)}. See above what it says; where it says nothing, what an observer does ends it.`,
    );
  }

  async #exited(number: number, end: ProcessEnd, restartInMs: number): Promise<void> {
    const { code = null, signal = null } = end;
    const details = { process: number, code, signal, restartInMs };
    const text = `process ${number} ended with ${describeEnd(end)}; starting it again in ${restartInMs} ms`;
    await this.#tell("exited", details, text);
  }

  async #stopped(): Promise<void> {
    const { processes } = this.#options;
    const restarts = this.#restarts;
    const { committed } = this.#runs;
    const again = restarts === 0 ? "" : `, ${counted(restarts, "restart")}`;
    const text = `all stopped after ${counted(committed, "run")}${again}`;
    await this.#tell("stopped", { processes, runs: this.#runs, restarts }, text);
  }

  #showProgress(): void {
    const living = [...this.#running.values()];
    const committed = living.reduce((sum, { runs }) => sum + runs.committed, this.#runs.committed);
    const text = `${processText(living.length)}, ${counted(committed, "run")} committed`;
    this.#progress.show(() => `${text}, ${this.#progress.rate(committed)}`);
    const { environment } = this.#cli;
    this.#timer = environment.setTimer(() => this.#showProgress(), progressMs, { background: true });
  }

  #now(): string {
    return new Date(this.#cli.environment.now()).toISOString();
  }

  async #tell(event: string, details: object, text: string): Promise<void> {
    const time = this.#now();
    this.#progress.end();
    await this.#cli.print({ event, time, ...details }, () => [`${time} ${oneLine(text)}`]);
  }
}

const outcomes = Object.keys(noRuns) as (keyof RunCounts)[];

/** A line that is a document, as the worker's own are. */
function parsed(line: string): object | undefined {
  try {
    const document: unknown = JSON.parse(line);
    return typeof document === "object" && document !== null && !Array.isArray(document)
      ? document
      : undefined;
  } catch {
    return undefined;
  }
}

function describeEnd({ code, signal }: ProcessEnd): string {
  return signal === undefined ? `exit code ${code}` : signal;
}

function processText(count: number): string {
  return `${count} process${count === 1 ? "" : "es"}`;
}
