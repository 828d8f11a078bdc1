import type { Environment, Timer } from "../../environment/index.js";
import { FlushingGzip } from "./gzip.js";

/** An event as server-sent events have them. */
export interface ServerEvent {
  /** The name of the event. Undefined for the default, `message`. */
  readonly event?: string | undefined;
  /** What the client sends as `Last-Event-ID` to continue after the event. */
  readonly id?: string | undefined;
  /** JSON, in one line. */
  readonly data: string;
}

/**
 * A comment, which clients ignore. It shows the client of this package that the server works, so that its
 * next pause is short.
 */
const comment = ":\n\n";

/** What an event stream needs to know. */
export interface EventStreamOptions {
  readonly environment: Environment;
  readonly heartbeatMs: number;
  readonly slowMs: number;
  readonly maxAgeMs: number | undefined;
  readonly gzip: boolean;
  /** Called once, when the stream has ended for whatever reason. */
  readonly onEnd: () => void;
}

const encoder = new TextEncoder();

/** The text of an event, or of a comment. */
export function eventText(given: ServerEvent | "comment"): string {
  if (given === "comment") return comment;
  const { event, id, data } = given;
  const name = event === undefined ? "" : `event: ${event}\n`;
  return `${name}${id === undefined ? "" : `id: ${id}\n`}data: ${data}\n\n`;
}

/**
 * The body of a response with server-sent events. It holds at most one event and one heartbeat that
 * the client has not taken: {@link demand} says when the client wants the next one.
 *
 * States: *wanting*, when the reader waits for bytes; *behind*, from the moment that bytes were given
 * until the reader comes back; *ended*. Only a wanting client gets heartbeats. A client that is
 * behind for `slowMs` is ended.
 */
export class EventStream {
  readonly body: ReadableStream<Uint8Array>;
  readonly #options: EventStreamOptions;
  readonly #ending = new AbortController();
  readonly #gzip: FlushingGzip | undefined;
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  #isWanting = false;
  /** Those who wait until the client wants more. */
  #waiting: (() => void)[] = [];
  #sending: Promise<void> = Promise.resolve();
  #heartbeat: Timer | undefined;
  #behind: Timer | undefined;
  #age: Timer | undefined;

  constructor(options: EventStreamOptions) {
    this.#options = options;
    this.#gzip = options.gzip ? new FlushingGzip() : undefined;
    this.body = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.#controller = controller;
        },
        pull: () => this.#onPull(),
        cancel: () => this.#end(),
      },
      { highWaterMark: 0 },
    );
    const { environment, maxAgeMs } = options;
    if (maxAgeMs !== undefined) {
      this.#age = environment.setTimer(() => void this.close(), maxAgeMs, { background: true });
    }
  }

  /** Aborted when the stream ends. */
  get signal(): AbortSignal {
    return this.#ending.signal;
  }

  /** Resolves when the client has taken everything: to false if the stream has ended instead. */
  async demand(): Promise<boolean> {
    while (!this.signal.aborted && !this.#isWanting) {
      await new Promise<void>((resolve) => {
        this.#waiting.push(resolve);
      });
    }
    return !this.signal.aborted;
  }

  /** Gives the client some text of the stream. */
  send(text: string): Promise<void> {
    return this.#inTurn(async () => {
      const bytes = encoder.encode(text);
      this.#give(this.#gzip === undefined ? bytes : await this.#gzip.compress(bytes));
    });
  }

  /** Ends the stream when the client has taken all that was sent. */
  close(): Promise<void> {
    return this.#inTurn(async () => {
      if (!(await this.demand())) return;
      const last = await this.#gzip?.finish();
      if (this.signal.aborted) return;
      if (last !== undefined) this.#give(last);
      this.#controller?.close();
      this.#end();
    });
  }

  /** Ends the stream at once, because nobody reads it any more. */
  leave(): void {
    if (this.signal.aborted) return;
    this.#controller?.close();
    this.#end();
  }

  /**
   * Breaks the connection off. Servers then destroy its socket, even if they wait for the client to
   * take what it was sent.
   */
  breakOff(reason: string): void {
    if (this.signal.aborted) return;
    this.#controller?.error(new Error(reason));
    this.#end();
  }

  /** Events and heartbeats are compressed one after another. */
  #inTurn(run: () => Promise<void>): Promise<void> {
    this.#sending = this.#sending
      .then(() => (this.signal.aborted ? undefined : run()))
      .catch(() => this.breakOff("The events could not be compressed."));
    return this.#sending;
  }

  #give(bytes: Uint8Array): void {
    if (this.signal.aborted || bytes.length === 0) return;
    this.#fallBehind();
    this.#controller?.enqueue(bytes);
  }

  #onPull(): void {
    this.#isWanting = true;
    this.#behind?.cancel();
    this.#behind = undefined;
    this.#wake();
    const { environment, heartbeatMs } = this.#options;
    this.#heartbeat?.cancel();
    this.#heartbeat = environment.setTimer(() => void this.send(comment), heartbeatMs, { background: true });
  }

  #fallBehind(): void {
    this.#isWanting = false;
    this.#heartbeat?.cancel();
    const { environment, slowMs } = this.#options;
    this.#behind ??= environment.setTimer(
      () => this.breakOff(`The client took nothing for ${slowMs} ms.`),
      slowMs,
      { background: true },
    );
  }

  #wake(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const resolve of waiting) resolve();
  }

  #end(): void {
    if (this.signal.aborted) return;
    this.#ending.abort();
    for (const timer of [this.#heartbeat, this.#behind, this.#age]) timer?.cancel();
    this.#gzip?.destroy();
    this.#wake();
    this.#options.onEnd();
  }
}
