import type { Cli } from "../cli.js";
import { formatDuration } from "../time.js";

const everyMs = 100;
const clearLine = "\r\u001b[K";

/** How far long work is, on one line of the error stream; only where that is a terminal. */
export class Progress {
  readonly #cli: Cli;
  readonly #startedAt: number;
  #shownAt = Number.NEGATIVE_INFINITY;
  #shown = false;

  constructor(cli: Cli) {
    this.#cli = cli;
    this.#startedAt = cli.environment.monotonic();
  }

  /** Milliseconds since it was made. */
  get elapsedMs(): number {
    return this.#cli.environment.monotonic() - this.#startedAt;
  }

  /** Shows how far the work is, unless something was shown a moment ago. */
  show(text: () => string): void {
    const now = this.#cli.environment.monotonic();
    if (!this.#cli.err.isTerminal || now - this.#shownAt < everyMs) return;
    this.#shownAt = now;
    this.#shown = true;
    this.#write(`${clearLine}${text()}`);
  }

  /** Takes the line away. */
  end(): void {
    if (this.#shown) this.#write(clearLine);
    this.#shown = false;
  }

  /** So many a second since it was made. */
  rate(count: number): string {
    const seconds = this.elapsedMs / 1_000;
    return seconds < 0.001 ? "" : `${Math.round(count / seconds)}/s`;
  }

  /** What is left of work of which a share is done, from 0 to 1, going on as before; nothing where that is not known. */
  left(share: number | undefined): string {
    if (share === undefined || share <= 0 || this.elapsedMs < 1_000) return "";
    const percent = Math.floor(Math.min(1, share) * 100);
    return `, ${percent} %, about ${formatDuration(this.elapsedMs * (1 / Math.min(1, share) - 1))} left`;
  }

  #write(text: string): void {
    // Progress that cannot be shown stops nothing.
    this.#cli.err.write(text).catch(() => undefined);
  }
}
