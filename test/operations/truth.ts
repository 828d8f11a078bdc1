import { pause } from "../support/waiting.js";
import type { Answer, Served } from "./operated.js";

/** The time in milliseconds after a change, within which every answer must show it. */
export const truthMs = 3_000;
const tickMs = 10;
/** After this time, in milliseconds, waiting is pointless. */
const patienceMs = 90_000;

/**
 * A clock that counts the ticks of a timer. A tick that comes late counts as only one tick. So
 * delays of a busy machine do not count against the tested program.
 */
class MachineClock {
  #now = 0;
  readonly #timer = setInterval(() => {
    this.#now += tickMs;
  }, tickMs);

  get now(): number {
    return this.#now;
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}

/** Repeats a request until its answer shows the current state, and judges how long that took. */
export class Truth implements Disposable {
  readonly #clock = new MachineClock();
  /** The answers with their times, for readers of the test's output. */
  readonly heard: string[] = [];

  /** The current time, to mark the beginning of a state. */
  get now(): number {
    return this.#clock.now;
  }

  /**
   * Repeats a request until `isTrue` accepts its answer. Throws if the accepted request was made
   * later than `withinMs` after `since`. To this limit it adds the time of the slowest answer of
   * `/healthz`, because that time depends only on the machine.
   */
  async comes<T>(
    what: string,
    of: Served | undefined,
    since: number,
    ask: () => Promise<T>,
    isTrue: (answer: T) => boolean,
    withinMs: number = truthMs,
  ): Promise<T> {
    let slowest = 0;
    for (;;) {
      const took = this.now - since;
      const answer = await ask();
      if (isTrue(answer)) {
        this.heard.push(`${what}: ${Math.round(took)} ms`);
        if (took <= withinMs + slowest) return answer;
        throw new Error(
          `${what}: the truth came after ${took} ms, and not within ${withinMs} (+ ${slowest}).`,
        );
      }
      if (took > patienceMs) throw new Error(`${what}: it still says ${JSON.stringify(answer)}.`);
      const asked = performance.now();
      if (of !== undefined) await of.ask("/healthz");
      slowest = Math.max(slowest, performance.now() - asked);
      await pause(20);
    }
  }

  /** Waits until a page gives this answer. */
  page(
    of: Served,
    page: "/healthz" | "/readyz",
    since: number,
    status: number,
    text: RegExp,
    withinMs = truthMs,
  ): Promise<Answer> {
    const isSo = (answer: Answer) => answer.status === status && text.test(answer.text);
    return this.comes(`${page} ${status} ${text.source}`, of, since, () => of.ask(page), isSo, withinMs);
  }

  /** Waits until a sample has this value. */
  sample(
    of: Served,
    name: string,
    since: number,
    value: number,
    withinMs = truthMs,
  ): Promise<number | undefined> {
    return this.comes(
      `${name} ${value}`,
      of,
      since,
      () => of.sample(name),
      (found) => found === value,
      withinMs,
    );
  }

  [Symbol.dispose](): void {
    this.#clock.stop();
  }
}
