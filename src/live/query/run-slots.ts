import { unlessAborted } from "../../environment/index.js";

/** Bounds how many runs of live queries read the store at the same time. */
export class RunSlots {
  readonly #waiting = new Set<() => void>();
  #free: number;

  constructor(count: number) {
    this.#free = count;
  }

  /** Resolves to a function that frees the slot, once one is free. The oldest call comes first. */
  async take(signal: AbortSignal): Promise<() => void> {
    if (this.#free > 0) this.#free--;
    else {
      let go!: () => void;
      const turn = new Promise<void>((resolve) => {
        go = resolve;
      });
      this.#waiting.add(go);
      try {
        await unlessAborted(turn, signal, "A live query");
      } catch (error) {
        // A slot that was given in the meantime goes to the next one.
        if (!this.#waiting.delete(go)) this.#give();
        throw error;
      }
    }
    return () => this.#give();
  }

  #give(): void {
    const [next] = this.#waiting;
    if (next === undefined) this.#free++;
    else {
      this.#waiting.delete(next);
      next();
    }
  }
}
