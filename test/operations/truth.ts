import { pause } from "../support/waiting.js";
import type { Answer, Served } from "./operated.js";

/** Within so long what is asked says the truth, in milliseconds. */
export const truthMs = 3_000;
const tickMs = 10;
/** After so long nothing will come of it. */
const patienceMs = 90_000;

/**
 * Time as this machine has it to give: a tick counts as one, however late it came. What a machine that does other things takes longer
 * for everything is no fault of what is tested.
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

/** Asks again and again after a moment, and judges when it first heard the truth. */
export class Truth implements Disposable {
  readonly #clock = new MachineClock();
  /** What was heard when, for who reads the test's output. */
  readonly heard: string[] = [];

  /** The moment from which on something is so. */
  get now(): number {
    return this.#clock.now;
  }

  /**
   * Asks until `isTrue` of the answer, and throws if that was asked later than `withinMs` after `since`. A process that has no time for
   * `/healthz`, which depends on nothing, is let have that much more.
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

  /** A page comes to say this. */
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

  /** A sample comes to be this. */
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
