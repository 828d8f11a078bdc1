import { setImmediate } from "node:timers/promises";
import type { Parts } from "./text/index.js";

/** A part of a computation that nobody notices, in milliseconds. */
const partMs = 2;

/** Cuts a long computation into parts, so that pages and searches need not wait for its end. */
export class Turns {
  #began = performance.now();

  /** Call it often. It lets other work go on if the present part has been long enough. */
  async give(): Promise<void> {
    if (performance.now() - this.#began < partMs) return;
    await setImmediate();
    this.#began = performance.now();
  }
}

/** Computes in parts, and lets other work go on between them. */
export async function inTurns<T>(parts: Parts<T>, signal: AbortSignal): Promise<T> {
  const turns = new Turns();
  for (;;) {
    signal.throwIfAborted();
    const step = parts.next();
    if (step.done === true) return step.value;
    await turns.give();
  }
}
