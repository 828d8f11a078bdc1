import type { Environment } from "../../environment/index.js";

/** A failure that says what the one before said is told again after this, in milliseconds: often enough to see that it goes on. */
const sameMs = 10_000;
/** A failure that says something else is told after this, in milliseconds. */
const otherMs = 1_000;
/** What is remembered: the things that can fail have few names. */
const maxNames = 100;

interface Told {
  readonly text: string;
  readonly at: number;
  untold: number;
}

/** Bounds how often failures that repeat are printed: for each thing that fails once a second at most, and every 10 s if it fails in the same way. */
export class FailureRate {
  readonly #environment: Environment;
  readonly #told = new Map<string, Told>();

  constructor(environment: Environment) {
    this.#environment = environment;
  }

  /** How many failures of `doing` were kept back since one was printed; undefined if this one is to be kept back too. */
  admit(doing: string, text: string): number | undefined {
    const at = this.#environment.monotonic();
    const told = this.#told.get(doing);
    if (told !== undefined && at - told.at < (told.text === text ? sameMs : otherMs)) {
      told.untold++;
      return undefined;
    }
    this.#told.delete(doing);
    if (this.#told.size >= maxNames) this.#told.delete(this.#told.keys().next().value!);
    this.#told.set(doing, { text, at, untold: 0 });
    return told?.untold ?? 0;
  }
}
