import type { Environment, Timer } from "../../environment/index.js";
import type { MaybePromise } from "../../store/index.js";
import type { Cluster } from "../cluster.js";

/**
 * For how long this process must have no run before it reports itself quiet, in milliseconds. A
 * busy process does not report between two runs.
 */
const quietAfterMs = 20;

export interface BusyReportOptions {
  readonly cluster: Cluster;
  readonly environment: Environment;
  readonly onFailure: (doing: string, error: unknown) => void;
}

/**
 * Tells the cluster whether this process has runs in progress. A quiet process waits for the
 * cluster's answer before it begins a run. So if a process finds all others quiet in two looks,
 * with no busy period in between, nothing ran.
 */
export class BusyReport {
  readonly #options: BusyReportOptions;
  #running = 0;
  #isKnown = false;
  #telling: Promise<void> | undefined;
  #timer: Timer | undefined;

  constructor(options: BusyReportOptions) {
    this.#options = options;
  }

  /** Called before a run. The run may begin when the result resolves. */
  begin(): MaybePromise<void> {
    this.#running++;
    this.#timer?.cancel();
    this.#timer = undefined;
    if (this.#isKnown) return;
    this.#telling ??= this.#tell();
    return this.#telling;
  }

  async #tell(): Promise<void> {
    try {
      await this.#options.cluster.busy();
    } catch (error) {
      this.#options.onFailure("telling the cluster that this process is busy", error);
    }
    this.#telling = undefined;
    this.#isKnown = true;
  }

  /** Called after a run. */
  end(): void {
    this.#running--;
    if (this.#running > 0) return;
    this.#timer?.cancel();
    this.#timer = this.#options.environment.setTimer(() => this.#quiet(), quietAfterMs, { background: true });
  }

  #quiet(): void {
    this.#timer = undefined;
    if (this.#running > 0 || !this.#isKnown) return;
    this.#isKnown = false;
    this.#options.cluster.quiet();
  }

  /** Reports at once that nothing runs any more. */
  close(): void {
    this.#timer?.cancel();
    this.#quiet();
  }
}
