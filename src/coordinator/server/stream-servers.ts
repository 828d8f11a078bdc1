import { CoordinatorError, type PercolatorError } from "../../errors/index.js";
import type { TimestampRange } from "../../oracle/index.js";
import type { Leadership, Term } from "../membership/leadership.js";
import type { Member } from "../membership/membership-table.js";
import { brokenMessage } from "../wire/message-check.js";
import type { SessionReply, SessionRequest, Step } from "../wire/messages.js";
import type { StreamServer } from "./calls.js";

/** Serves timestamps to one client, one request at a time. */
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

  /**
   * The oracle checks its lease after it has taken the timestamps. There is no wait between that
   * check and the write to the socket.
   */
  answer(count: number): Promise<TimestampRange> {
    this.#onAsked(count);
    return this.#leadership.leader.next(count, { signal: this.#ending.signal });
  }

  end(): void {
    this.#ending.abort();
    this.#onEnd();
  }
}

/** Serves one session. The session ends when its stream ends. */
export class SessionServer implements StreamServer<SessionRequest, SessionReply> {
  readonly #leadership: Leadership;
  readonly #fail: (error: unknown) => void;
  readonly #onEnd: () => void;
  #term: Term | undefined;
  #member: Member | undefined;

  constructor(leadership: Leadership, fail: (error: unknown) => void, onEnd: () => void) {
    this.#leadership = leadership;
    this.#fail = fail;
    this.#onEnd = onEnd;
  }

  answer({ join, steps }: SessionRequest): SessionReply {
    const term = this.#leadership.term();
    let epoch: string | undefined;
    if (this.#member === undefined) {
      if (join === undefined) throw brokenMessage("a session's first request does not join");
      this.#term = term;
      this.#member = term.table.join(join, this.#onReplaced);
      term.signal.addEventListener("abort", this.#onTermOver, { once: true });
      epoch = term.table.epoch;
    } else if (join !== undefined) {
      throw brokenMessage("a session joins twice");
    }
    const member = this.#member;
    const granted: boolean[] = [];
    for (const step of steps) take(member, step, granted);
    return { epoch, granted };
  }

  end(): void {
    this.#term?.signal.removeEventListener("abort", this.#onTermOver);
    this.#member?.end();
    this.#onEnd();
  }

  readonly #onTermOver = () => this.#fail(this.#term!.signal.reason as PercolatorError);

  readonly #onReplaced = () =>
    this.#fail(
      new CoordinatorError("the session has joined again over another connection.", { reason: "use" }),
    );
}

function take(member: Member, step: Step, granted: boolean[]): void {
  if (step.type === "claim") granted.push(member.claim(step.key));
  else if (step.type === "release") member.release(step.key);
  else if (step.type === "busy") member.busy();
  else member.quiet();
}
