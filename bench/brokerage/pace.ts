/** Orders that were placed, and how many of them observers have settled. */
export interface Progress {
  readonly orders: number;
  readonly settled: number;
}

/** Delays an order while `maxAhead` orders of all processes wait to be settled. */
export class Pace {
  readonly #maxAhead: number;
  #own: Progress = { orders: 0, settled: 0 };
  #others: Progress = { orders: 0, settled: 0 };
  #waiting: (() => void)[] = [];

  constructor(maxAhead: number) {
    this.#maxAhead = maxAhead;
  }

  get progress(): Progress {
    return this.#own;
  }

  /** Resolves when an order may be placed, and counts it. */
  async place(): Promise<void> {
    while (this.#ahead >= this.#maxAhead) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    this.#own = { ...this.#own, orders: this.#own.orders + 1 };
  }

  settled(): void {
    this.#own = { ...this.#own, settled: this.#own.settled + 1 };
    this.#wake();
  }

  /** Updates the progress of the other processes. */
  learn(others: Progress): void {
    this.#others = others;
    this.#wake();
  }

  get #ahead(): number {
    return this.#own.orders + this.#others.orders - this.#own.settled - this.#others.settled;
  }

  #wake(): void {
    if (this.#ahead >= this.#maxAhead) return;
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}
