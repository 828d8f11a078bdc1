const width = 110;

/** Says on a terminal how long a measurement has taken, and what it said last, in a line that is written over. */
export class Progress {
  readonly #began = performance.now();
  readonly #timer: NodeJS.Timeout | undefined;
  #last = "";

  constructor() {
    if (process.stderr.isTTY) this.#timer = setInterval(() => this.#show(), 1_000);
  }

  say(line: string): void {
    this.#last = line;
  }

  end(): void {
    if (this.#timer === undefined) return;
    clearInterval(this.#timer);
    process.stderr.write("\r\u001b[K");
  }

  #show(): void {
    const seconds = Math.round((performance.now() - this.#began) / 1_000);
    const line = `${seconds} s ${this.#last}`.slice(0, width);
    process.stderr.write(`\r\u001b[K${line}`);
  }
}
