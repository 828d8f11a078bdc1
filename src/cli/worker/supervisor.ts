import { backoffDelay, sleep, type Timer } from "../../environment/index.js";
import { ObserverError } from "../../errors/index.js";
import type { Cli } from "../cli.js";
import { exitCodes } from "../print/exit.js";
import { counted, oneLine } from "../print/layout.js";
import { Progress } from "../print/progress.js";
import { UsageError } from "../usage-error.js";
import { createdText, noRuns, type RunCounts } from "./worker-log.js";
import { endedInOrder, endOf, type ProcessEnd, type WorkerProcess } from "./worker-process.js";

export interface SupervisorOptions {
  readonly cli: Cli;
  /** Number of processes to run. */
  readonly processes: number;
  /** Address of the dashboard for all processes, if there is one. */
  readonly dashboard?: string | undefined;
  /** Where this process created the database. */
  readonly created?: string | undefined;
  /** Starts the process with this number. Numbers begin at 1. */
  readonly start: (number: number) => WorkerProcess;
  /** Milliseconds after a signal until the supervisor kills a process that has not ended. */
  readonly killAfterMs: number;
}

const restarting = { initialMs: 100, maximumMs: 10_000 };
/** A process that lives for fewer milliseconds than this has died quickly. */
const quickMs = 10_000;
/**
 * Quick deaths in a row after which the supervisor stops restarting a process. If an observer's
 * change ends the process each time, the change is parked before this limit.
 */
const maxQuickDeaths = 12;
const progressMs = 250;

/**
 * Runs a worker in several processes for `percolator worker --processes`. It restarts processes
 * that die, forwards signals, and prints the processes' output.
 */
export class Supervisor {
  readonly #options: SupervisorOptions;
  readonly #cli: Cli;
  readonly #progress: Progress;
  readonly #running = new Map<number, WorkerProcess>();
  /** The counts of runs, summed over the processes that have ended. */
  readonly #runs: RunCounts = { ...noRuns };
  readonly #stopping = new AbortController();
  #restarts = 0;
  /** Whether a process that has ended had started to work. */
  #hasStarted = false;
  #timer: Timer | undefined;

  constructor(options: SupervisorOptions) {
    this.#options = options;
    this.#cli = options.cli;
    this.#progress = new Progress(options.cli);
  }

  /** The processes that run now, by number. */
  get running(): ReadonlyMap<number, WorkerProcess> {
    return this.#running;
  }

  /** Runs the processes. Resolves when all have ended after a signal. */
  async run(): Promise<void> {
    const { processes, dashboard, created } = this.#options;
    const { signal } = this.#cli;
    const served = dashboard === undefined ? "" : `; dashboard at ${dashboard}`;
    await this.#tell(
      "supervising",
      { processes, dashboard, created },
      `starting ${processText(processes)}${served}${createdText(created)}`,
    );
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

  /**
   * Waits until all processes have ended for good. If one of them cannot be restarted, stops the
   * others and rejects.
   */
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

  /** Restarts one of the processes until all must stop. */
  async #keep(number: number): Promise<void> {
    const { environment } = this.#cli;
    for (let quickDeaths = 0; !this.#isStopping; ) {
      const startedAt = environment.monotonic();
      const { end, isObsolete } = await this.#live(number);
      if (this.#isStopping) {
        if (!endedInOrder(end, this.#cli.endSignal) && this.#cli.exitCode !== exitCodes.obsolete)
          this.#cli.exitCode = exitCodes.data;
        return;
      }
      if (isObsolete) {
        // A restarted process would have nothing to run either.
        this.#cli.exitCode = exitCodes.obsolete;
        this.#stop();
        return;
      }
      quickDeaths = environment.monotonic() - startedAt < quickMs ? quickDeaths + 1 : 0;
      this.#giveUp(number, end, quickDeaths);
      this.#restarts++;
      const restartInMs = Math.round(backoffDelay(environment, restarting, Math.max(1, quickDeaths)));
      await this.#exited(number, end, restartInMs);
      await sleep(environment, restartInMs, this.#stopping.signal).catch(() => undefined);
    }
  }

  /** Runs a process from its start until all its output is printed. */
  async #live(number: number): Promise<{ readonly end: ProcessEnd; readonly isObsolete: boolean }> {
    const process = this.#options.start(number);
    this.#running.set(number, process);
    const printed = Promise.all([
      this.#hand(number, process.output, "out"),
      this.#hand(number, process.errors, "err"),
    ]);
    const end = await endOf(process, printed, this.#cli.environment);
    this.#running.delete(number);
    this.#hasStarted ||= process.hasStarted;
    for (const outcome of outcomes) this.#runs[outcome] += process.runs[outcome];
    return { end, isObsolete: process.isObsolete };
  }

  /** Prints the output of a process. Each line begins with the process's number. */
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

  /** Throws if restarting the process is pointless. */
  #giveUp(number: number, end: ProcessEnd, quickDeaths: number): void {
    if (end.error !== undefined) {
      throw new UsageError(`A worker process cannot be started: ${end.error.message}`);
    }
    // Once a process has worked, the command line is right. User code may exit with any code, and a
    // deploy may be replacing the module.
    const hasStarted = this.#hasStarted || [...this.#running.values()].some((each) => each.hasStarted);
    if (end.code === exitCodes.usage && !hasStarted) {
      throw new UsageError(
        `The command line of the worker is wrong: see the error of process ${number} above.`,
      );
    }
    if (quickDeaths < maxQuickDeaths) return;
    throw new ObserverError(
      `Process ${number} of the worker died ${quickDeaths} times within ${quickMs / 1_000} seconds of its start, the last time with ` +
        `${describeEnd(end)}. See its output above. If it printed nothing, an observer probably ends the process.`,
    );
  }

  async #exited(number: number, end: ProcessEnd, restartInMs: number): Promise<void> {
    const { code = null, signal = null } = end;
    const details = { process: number, code, signal, restartInMs };
    const text = `process ${number} ended with ${describeEnd(end)}; restarting it in ${restartInMs} ms`;
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

/** Parses a line that holds a JSON document, as a worker prints with `--json`. */
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
