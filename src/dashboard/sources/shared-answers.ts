import type { Environment } from "../../environment/index.js";
import { Shared } from "./shared.js";

/** The most different questions whose answers are kept. */
const maxAnswers = 16;

/** The answers to the last questions, each {@link Shared} by all who ask it. */
export class SharedAnswers<Q, A> {
  readonly #environment: Environment;
  readonly #everyMs: number;
  readonly #find: (question: Q) => Promise<A>;
  readonly #known = new Map<string, Shared<A>>();

  constructor(environment: Environment, everyMs: number, find: (question: Q) => Promise<A>) {
    this.#environment = environment;
    this.#everyMs = everyMs;
    this.#find = find;
  }

  get(question: Q): Promise<A> {
    const key = JSON.stringify(question);
    const answer =
      this.#known.get(key) ?? new Shared(this.#environment, this.#everyMs, () => this.#find(question));
    // The question that was last asked stands last.
    this.#known.delete(key);
    this.#known.set(key, answer);
    if (this.#known.size > maxAnswers) this.#known.delete(this.#known.keys().next().value!);
    return answer.get();
  }

  /** Forgets the answers, because what they are about has changed. */
  forget(): void {
    this.#known.clear();
  }
}
