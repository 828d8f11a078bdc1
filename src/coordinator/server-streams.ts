import { CoordinatorError, type PercolatorError } from "../errors/index.js";
import type { TimestampRange } from "../oracle/index.js";
import type { Seat } from "./board.js";
import type { StreamServer } from "./calls.js";
import type { Leadership, Reign } from "./leadership.js";
import { brokenMessage } from "./message-check.js";
import type { SessionReply, SessionRequest, Step } from "./messages.js";

/** Serves timestamps to one client: one request at a time. */
export class TimestampServer implements StreamServer<number, TimestampRange> {
  readonly #leadership: Leadership;
  readonly #ending = new AbortController();
  readonly #onAsked: (count: number) => void;
  readonly #onEnd: () => void;

  constructor(leadership: Leadership, onAsked: (count: number) => void, onEnd: () => void) {
    this.#leadership = leadership;
    this.#onAsked = onAsked;
    this.#onEnd = onEnd;
  }

  /** The oracle looks at its lease after it has taken them; from there to the socket nothing waits. */
  answer(count: number): Promise<TimestampRange> {
    this.#onAsked(count);
    return this.#leadership.leader.next(count, { signal: this.#ending.signal });
  }

  end(): void {
    this.#ending.abort();
    this.#onEnd();
  }
}

/** Serves one session, which lives while its stream does. */
export class SessionServer implements StreamServer<SessionRequest, SessionReply> {
  readonly #leadership: Leadership;
  readonly #fail: (error: unknown) => void;
  readonly #onEnd: () => void;
  #reign: Reign | undefined;
  #seat: Seat | undefined;

  constructor(leadership: Leadership, fail: (error: unknown) => void, onEnd: () => void) {
    this.#leadership = leadership;
    this.#fail = fail;
    this.#onEnd = onEnd;
  }

  answer({ join, steps }: SessionRequest): SessionReply {
    const reign = this.#leadership.reign();
    let epoch: string | undefined;
    if (this.#seat === undefined) {
      if (join === undefined) throw brokenMessage("a session's first request does not join");
      this.#reign = reign;
      this.#seat = reign.board.join(join, this.#onReplaced);
      reign.signal.addEventListener("abort", this.#onReignOver, { once: true });
      epoch = reign.board.epoch;
    } else if (join !== undefined) {
      throw brokenMessage("a session joins twice");
    }
    const seat = this.#seat;
    const granted: boolean[] = [];
    for (const step of steps) take(seat, step, granted);
    return { epoch, granted };
  }

  end(): void {
    this.#reign?.signal.removeEventListener("abort", this.#onReignOver);
    this.#seat?.end();
    this.#onEnd();
  }

  readonly #onReignOver = () => this.#fail(this.#reign!.signal.reason as PercolatorError);

  readonly #onReplaced = () =>
    this.#fail(
      new CoordinatorError("its session has joined anew over another connection.", { reason: "use" }),
    );
}

function take(seat: Seat, step: Step, granted: boolean[]): void {
  if (step.type === "claim") granted.push(seat.claim(step.key));
  else if (step.type === "release") seat.release(step.key);
  else if (step.type === "busy") seat.busy();
  else seat.quiet();
}
