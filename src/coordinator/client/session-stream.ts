import { OracleUnavailableError } from "../../errors/index.js";
import { brokenMessage } from "../wire/message-check.js";
import type { Received } from "../wire/message-codec.js";
import type { Join, SessionReply, SessionRequest, Step } from "../wire/messages.js";
import { coordinatorService } from "../wire/service.js";
import type { Channel, ClientStream } from "./channel.js";

interface Waiting {
  readonly resolve: (reply: SessionReply) => void;
  readonly reject: (error: unknown) => void;
}

/** One connection of a session. Replies arrive in the order of the requests. */
export class SessionStream {
  readonly channel: Channel;
  /**
   * Resolves to the epoch of the membership table when the coordinator has accepted the session.
   * Rejects if the coordinator refuses it.
   */
  readonly joined: Promise<string>;
  /** Resolves to the reason when the stream ends. */
  readonly over: Promise<unknown>;
  readonly #stream: ClientStream<SessionRequest, SessionReply>;
  readonly #waiting: Waiting[] = [];
  #end!: (reason: unknown) => void;
  #isOver = false;

  constructor(channel: Channel, join: Join) {
    this.channel = channel;
    this.over = new Promise((resolve) => {
      this.#end = resolve;
    });
    this.#stream = channel.open(coordinatorService.session);
    this.#stream.on("data", (reply: Received<SessionReply>) => this.#take(reply));
    this.#stream.on("error", (error) => this.#ended(error));
    this.#stream.on("end", () => this.#ended(endedByServer()));
    this.joined = this.#request({ join, steps: [] }).then(({ epoch }) => epoch ?? "");
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** Number of requests without an answer. */
  get unanswered(): number {
    return this.#waiting.length;
  }

  /** Sends steps. Resolves to whether each claim among them is granted. */
  async send(steps: readonly Step[]): Promise<readonly boolean[]> {
    return (await this.#request({ join: undefined, steps })).granted;
  }

  /** Ends the session. {@link over} resolves when the coordinator has acknowledged the end. */
  finish(): void {
    if (!this.#isOver) this.#stream.end();
  }

  /** Drops the stream without ending the session first. */
  cancel(): void {
    this.#ended(new OracleUnavailableError("The session's connection was closed."));
    this.#stream.cancel();
  }

  #request(request: SessionRequest): Promise<SessionReply> {
    return new Promise((resolve, reject) => {
      if (this.#isOver) {
        reject(endedByServer());
        return;
      }
      this.#waiting.push({ resolve, reject });
      this.#stream.write(request);
    });
  }

  #take(reply: Received<SessionReply>): void {
    if (this.#isOver) return;
    const waiting = this.#waiting.shift();
    if (reply instanceof Error || waiting === undefined) {
      const reason = reply instanceof Error ? reply : brokenMessage("an answer without a request");
      waiting?.reject(reason);
      this.#ended(reason);
      this.#stream.cancel();
      return;
    }
    waiting.resolve(reply);
  }

  #ended(reason: unknown): void {
    if (this.#isOver) return;
    this.#isOver = true;
    for (const { reject } of this.#waiting.splice(0)) reject(reason);
    this.#end(reason);
  }
}

function endedByServer(): OracleUnavailableError {
  return new OracleUnavailableError("The coordinator ended the session's connection.");
}
