import { setImmediate } from "node:timers/promises";
import type { Parts } from "./text/index.js";

/** A part of a computation that nobody notices, in milliseconds. */
const partMs = 2;

export interface TurnsOptions {
  /** How long a part takes, in milliseconds. Default: 2. */
  readonly ms?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Cuts a long computation into parts, so that pages and searches need not wait for its end. */
export class Turns {
  readonly #ms: number;
  readonly #signal: AbortSignal | undefined;
  #began = performance.now();

  constructor({ ms = partMs, signal }: TurnsOptions = {}) {
    this.#ms = ms;
    this.#signal = signal;
  }

  /**
   * Call it often. It lets other work go on if the present part has been long enough. Throws if the
   * signal was aborted meanwhile.
   */
  async give(): Promise<void> {
    if (performance.now() - this.#began < this.#ms) return;
    await setImmediate();
    this.#began = performance.now();
    this.#signal?.throwIfAborted();
  }
}

/** Computes in parts, and lets other work go on between them. */
export async function inTurns<T>(parts: Parts<T>, signal: AbortSignal): Promise<T> {
  const turns = new Turns({ signal });
  signal.throwIfAborted();
  for (;;) {
    const step = parts.next();
    if (step.done === true) return step.value;
    await turns.give();
  }
}
