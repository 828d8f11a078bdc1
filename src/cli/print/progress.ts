import type { Cli } from "../cli.js";
import { formatDuration } from "../time.js";

const everyMs = 100;
const clearLine = "\r\u001b[K";

/**
 * Shows the progress of a long command on one line of the error stream. Prints nothing if that is
 * not a terminal.
 */
export class Progress {
  readonly #cli: Cli;
  readonly #startedAt: number;
  #shownAt = Number.NEGATIVE_INFINITY;
  #shown = false;

  constructor(cli: Cli) {
    this.#cli = cli;
    this.#startedAt = cli.environment.monotonic();
  }

  /** Milliseconds since the progress line was created. */
  get elapsedMs(): number {
    return this.#cli.environment.monotonic() - this.#startedAt;
  }

  /** Shows the progress, unless the line changed a moment ago. */
  show(text: () => string): void {
    const now = this.#cli.environment.monotonic();
    if (!this.#cli.err.isTerminal || now - this.#shownAt < everyMs) return;
    this.#shownAt = now;
    this.#shown = true;
    this.#write(`${clearLine}${text()}`);
  }

  /** Removes the line. */
  end(): void {
    if (this.#shown) this.#write(clearLine);
    this.#shown = false;
  }

  /** Formats the rate per second since the progress line was created. */
  rate(count: number): string {
    const seconds = this.elapsedMs / 1_000;
    return seconds < 0.001 ? "" : `${Math.round(count / seconds)}/s`;
  }

  /**
   * Formats the percentage and the estimated remaining time. `share` is the part done, from 0 to 1.
   * If it is undefined, returns an empty text.
   */
  left(share: number | undefined): string {
    if (share === undefined || share <= 0 || this.elapsedMs < 1_000) return "";
    const percent = Math.floor(Math.min(1, share) * 100);
    return `, ${percent} %, about ${formatDuration(this.elapsedMs * (1 / Math.min(1, share) - 1))} left`;
  }

  #write(text: string): void {
    // A command continues without its progress line.
    this.#cli.err.write(text).catch(() => undefined);
  }
}
