import { status } from "@grpc/grpc-js";
import { backoffDelay, type Environment, sleep } from "../../environment/index.js";
import { abortError } from "../../errors/index.js";
import { codeOf, isRepeatable } from "./status.js";

export interface RepeatOptions {
  readonly environment: Environment;
  /** Of the first request; each that repeats one which was not answered in time gets twice as long as that. */
  readonly deadlineMs: number;
  /** How long after its beginning a call is still repeated. */
  readonly retryForMs: number;
  /** Whether nothing is to be repeated any more, since somebody waits for the end of what is under way. */
  readonly isClosing: () => boolean;
}

const backoff = { initialMs: 20, maximumMs: 1_000 };

/** The attempts of one call that may be made again: how long each may take, and whether and when another follows. */
export class Attempts {
  readonly #options: RepeatOptions;
  readonly #until: number;
  #deadlineMs: number;
  #failed = 0;

  constructor(options: RepeatOptions, began = options.environment.monotonic()) {
    this.#options = options;
    this.#until = began + options.retryForMs;
    this.#deadlineMs = options.deadlineMs;
  }

  /** Of the next request. */
  get deadlineMs(): number {
    return Math.min(this.#deadlineMs, Math.max(1, this.#until - this.#options.environment.monotonic()));
  }

  /** Waits until the call may be made again after a failure; false if it may not be. */
  async again(error: unknown, signal: AbortSignal | undefined, doing: string): Promise<boolean> {
    const { environment, isClosing } = this.#options;
    const code = codeOf(error);
    const wait = backoffDelay(environment, backoff, ++this.#failed);
    if (!isRepeatable(code) || isClosing() || environment.monotonic() + wait >= this.#until) return false;
    // What was too much for the time that it had is as much the next time.
    if (code === status.DEADLINE_EXCEEDED) this.#deadlineMs *= 2;
    try {
      await sleep(environment, wait, signal);
    } catch {
      throw abortError(signal!, doing);
    }
    return true;
  }
}

/** Asks until there is an answer, or a failure that does not pass, or the time is over: rejects with the last failure. */
export async function repeated<Answer>(
  options: RepeatOptions,
  ask: (deadlineMs: number) => Promise<Answer>,
): Promise<Answer> {
  const attempts = new Attempts(options);
  for (;;) {
    try {
      return await ask(attempts.deadlineMs);
    } catch (error) {
      if (!(await attempts.again(error, undefined, "A request"))) throw error;
    }
  }
}
