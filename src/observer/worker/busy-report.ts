import type { Environment, Timer } from "../../environment/index.js";
import type { MaybePromise } from "../../store/index.js";
import type { Cluster } from "../cluster.js";

/**
 * How long no run may be in flight before this process counts as quiet: a busy one does not say so
 * between two runs.
 */
const quietAfterMs = 20;

export interface BusyReportOptions {
  readonly cluster: Cluster;
  readonly environment: Environment;
  readonly onFailure: (doing: string, error: unknown) => void;
}

/**
 * Tells the cluster whether this process has runs in flight. One that was quiet waits until that is
 * known before it begins a run, so that whoever finds all processes quiet, and nobody's turn
 * between two looks, knows that nothing ran.
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

  /** A run is to begin; it may when this resolves. */
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

  /** A run has ended. */
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

  /** Says at once that nothing runs any more. */
  close(): void {
    this.#timer?.cancel();
    this.#quiet();
  }
}
