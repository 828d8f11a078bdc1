import { type Environment, SingleFlight, type Timer } from "../../environment/index.js";
import type { MaybePromise } from "../../store/index.js";
import type { Cluster } from "../cluster.js";

/**
 * How long this process must be without a run before it reports that it is quiet, in milliseconds.
 * A busy process therefore reports nothing in the short time between two runs.
 */
const quietAfterMs = 20;

export interface BusyReportOptions {
  readonly cluster: Cluster;
  readonly environment: Environment;
  readonly onFailure: (doing: string, error: unknown) => void;
}

/**
 * Tells the cluster whether this process has runs in progress. A quiet process waits for the
 * cluster's answer before it begins a run. Another process can therefore find out that nothing ran
 * for some time: the cluster then reports all processes as quiet at the beginning and at the end,
 * and counts no new busy period.
 */
export class BusyReport {
  readonly #options: BusyReportOptions;
  #running = 0;
  #isKnown = false;
  readonly #telling = new SingleFlight<void>();
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
    return this.#telling.run(() => this.#tell());
  }

  async #tell(): Promise<void> {
    try {
      await this.#options.cluster.busy();
    } catch (error) {
      this.#options.onFailure("telling the cluster that this process is busy", error);
    }
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
