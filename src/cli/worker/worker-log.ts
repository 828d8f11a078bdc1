import type { Database } from "../../database/index.js";
import type { Timer } from "../../environment/index.js";
import { messageOf } from "../../errors/index.js";
import type { EventMap } from "../../events/index.js";
import { serviceFailure, type Worker } from "../../observer/index.js";
import type { AnySchedule } from "../../recipes/index.js";
import type { Cli } from "../cli.js";
import { counted, oneLine } from "../print/layout.js";
import { Progress } from "../print/progress.js";
import { FailureRate } from "./failure-rate.js";

/** Count of runs by outcome. */
export type RunCounts = Record<EventMap["run"]["outcome"], number>;

export const noRuns: Readonly<RunCounts> = Object.freeze({
  committed: 0,
  clean: 0,
  conflict: 0,
  failed: 0,
  timeout: 0,
  parked: 0,
});

/** What a worker says at its start of where it created the database. */
export function createdText(place: string | undefined): string {
  return place === undefined ? "" : `; created the database, since there was none at ${place}`;
}

/** What a worker process reports to its supervisor. */
export interface WorkerReport {
  readonly runs: Readonly<RunCounts>;
  /**
   * Whether the worker ends because it has nothing left to run. The exit code alone does not say
   * so, because user code may exit with any code.
   */
  readonly isObsolete: boolean;
}

const progressMs = 250;
/** Enough stack frames to show the line of the observer that threw. */
const maxFrames = 8;

/**
 * Prints the events of a worker: its start, its failures and its end. Each line or document has its
 * time.
 */
export class WorkerLog {
  readonly #cli: Cli;
  readonly #db: Database;
  readonly #progress: Progress;
  readonly #runs: RunCounts = { ...noRuns };
  readonly #failures: FailureRate;
  readonly #unlisten: readonly (() => void)[];
  #timer: Timer | undefined;
  #isObsolete = false;

  constructor(cli: Cli, db: Database) {
    this.#cli = cli;
    this.#db = db;
    this.#progress = new Progress(cli);
    this.#failures = new FailureRate(cli.environment);
    this.#unlisten = [
      db.on("run", (run) => this.#run(run)),
      db.on("backgroundFailure", ({ doing, error }) => this.#backgroundFailed(doing, error)),
    ];
    if (cli.err.isTerminal) this.#showProgress();
  }

  /**
   * Prints that the worker has started. `served` holds the addresses of its HTTP servers. `created` is where this
   * process made the database. If the user mistyped its location, this is the only sign.
   */
  async started(
    worker: Worker,
    served: Readonly<Record<string, string | undefined>>,
    schedules: readonly AnySchedule[] = [],
    created?: string,
  ): Promise<void> {
    if (this.#cli.io.report !== undefined) this.#keepReporting();
    const { observers } = worker;
    const names = schedules.map(({ name }) => name);
    const places = Object.entries(served).flatMap(([what, url]) =>
      url === undefined ? [] : `; ${what} at ${url}`,
    );
    await this.#print(
      "started",
      { observers, schedules: names, ...served, created },
      `running ${[...observers, ...names.map((name) => `schedule ${name}`)].join(", ")}${places.join("")}${createdText(created)}`,
    );
  }

  async stopping(worker: Worker): Promise<void> {
    const { endSignal: signal } = this.#cli;
    const { running } = worker;
    await this.#print(
      "stopping",
      { signal, running },
      `${signal ?? "ending"}: waiting for ${counted(running, "run")} to end`,
    );
  }

  /** Prints that the worker may no longer run any of its observers. */
  async obsolete(reasons: readonly string[]): Promise<void> {
    this.#isObsolete = true;
    this.#report();
    await this.#print("obsolete", { reasons }, `nothing left to run: ${reasons.join(" ")}`);
  }

  /**
   * Prints that the worker ends although some runs have not ended, because the last deadline has
   * passed.
   */
  async abandoned(running: number): Promise<void> {
    await this.#print(
      "abandoned",
      { running },
      `${counted(running, "run")} did not end; ending without them`,
    );
  }

  async stopped(givenUp: number): Promise<void> {
    const left = givenUp === 0 ? "" : `, ${counted(givenUp, "run")} abandoned; they will run again`;
    const { committed } = this.#runs;
    await this.#print(
      "stopped",
      { runs: this.#runs, givenUp },
      `stopped after ${counted(committed, "run")}${left}`,
    );
  }

  /** Prints that a derivation could not be made due on the rows that exist. */
  derivationFailed(derivation: string, error: unknown): void {
    const text = textOf(error);
    this.#tell(
      "derivationFailure",
      { derivation, error: text },
      `derivation ${derivation} could not be backfilled: ${text}`,
      stackOf(error),
    );
  }

  /** Prints that a due change failed. Without a key, the search for due changes failed. */
  scheduleFailed(schedule: string, error: unknown, key: unknown): void {
    const text = textOf(error);
    const place = key === undefined ? "" : `, on ${typeof key === "string" ? key : JSON.stringify(key)}`;
    this.#tell(
      "scheduleFailure",
      { schedule, key: key ?? null, error: text },
      `schedule ${schedule} failed${place}: ${text}`,
      stackOf(error),
    );
  }

  /** Removes the listeners. */
  end(): void {
    for (const unlisten of this.#unlisten) unlisten();
    this.#timer?.cancel();
    this.#progress.end();
    this.#report();
  }

  #report(): void {
    this.#cli.io.report?.({ runs: this.#runs, isObsolete: this.#isObsolete } satisfies WorkerReport);
  }

  #keepReporting(): void {
    this.#report();
    const { environment } = this.#cli;
    this.#timer = environment.setTimer(() => this.#keepReporting(), progressMs, { background: true });
  }

  #backgroundFailed(doing: string, error: unknown): void {
    const text = textOf(error);
    const suppressed = this.#failures.admit(doing, text);
    if (suppressed === undefined) return;
    this.#tell(
      "backgroundFailure",
      { doing, error: text, suppressed },
      `${doing}: ${text}${before(suppressed)}`,
    );
  }

  #run(run: EventMap["run"]): void {
    const { observer, outcome, error } = run;
    this.#runs[outcome]++;
    if (outcome !== "failed" && outcome !== "timeout" && outcome !== "parked") return;
    const code = outcome === "failed" ? serviceFailure(error) : undefined;
    if (code === undefined) {
      this.#runFailed(run, outcome, 0);
      return;
    }
    // Every due change fails in this way, repeatedly, until the store answers or the deploy has ended.
    const suppressed = this.#failures.admit(`run ${observer}`, code);
    if (suppressed !== undefined) this.#runFailed(run, "setback", suppressed);
  }

  #runFailed(
    { observer, outcome, attempts, error, cause }: EventMap["run"],
    kind: EventMap["run"]["outcome"] | "setback",
    suppressed: number,
  ): void {
    const text = textOf(error);
    const stack = stackOf(error);
    const { table, column, row } = this.#db.describeCell(cause.cell);
    this.#tell(
      outcome,
      { observer, table, column, row, attempts, error: text, stack, suppressed },
      `${observer} ${whatOf(kind, attempts)}, on ${table}.${column}, row ${row}: ${text}${before(suppressed)}`,
      kind === "setback" ? [] : stack,
    );
  }

  /** Prints an event without waiting. If that fails, `Cli.signal` ends the worker. */
  #tell(event: string, details: object, text: string, stack: readonly string[] = []): void {
    this.#print(event, details, text, stack).catch(() => undefined);
  }

  async #print(event: string, details: object, text: string, stack: readonly string[] = []): Promise<void> {
    const time = new Date(this.#cli.environment.now()).toISOString();
    this.#progress.end();
    await this.#cli.print({ event, time, ...details }, () => [
      `${time} ${oneLine(text)}`,
      ...stack.map((frame) => `    ${oneLine(frame)}`),
    ]);
  }

  #showProgress(): void {
    const { committed } = this.#runs;
    this.#progress.show(() => `${counted(committed, "run")} committed, ${this.#progress.rate(committed)}`);
    const { environment } = this.#cli;
    this.#timer = environment.setTimer(() => this.#showProgress(), progressMs, { background: true });
  }
}

/** What happened to a run that did not succeed. A setback is a failure that counts as no attempt. */
function whatOf(kind: EventMap["run"]["outcome"] | "setback", attempts: number): string {
  if (kind === "parked") return `parked after ${counted(attempts, "attempt")}`;
  if (kind === "setback") return "failed, which counts as no attempt";
  return `${kind === "timeout" ? "timed out" : "failed"}, attempt ${attempts}`;
}

/** How many failures were left out since the last one that was printed. */
function before(suppressed: number): string {
  return suppressed === 0 ? "" : ` (and ${counted(suppressed, "time")} before)`;
}

/** Returns the innermost frames of an error's stack, as Node formats them. */
function stackOf(error: unknown): readonly string[] {
  if (!(error instanceof Error) || error.stack === undefined) return [];
  const frames = error.stack.split("\n").filter((line) => line.startsWith("    at "));
  return frames.slice(0, maxFrames).map((line) => line.trim());
}

function textOf(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${messageOf(error)}` : messageOf(error);
}
