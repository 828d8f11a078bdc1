import {
  abortError,
  type Backoff,
  backoffDelay,
  type Environment,
  sleep,
  unlessAborted,
} from "../../environment/index.js";
import { CoordinatorError, NotLeaderError, type PercolatorError } from "../../errors/index.js";
import { within } from "../../oracle/index.js";
import type { Join } from "../wire/messages.js";
import type { LeaderConnection } from "./leader-connection.js";
import { SessionStream } from "./session-stream.js";

const retrying: Backoff = { initialMs: 50, maximumMs: 2_000 };
/**
 * How long to wait after a refusal before the session tries to join again, in milliseconds. The
 * cause may be temporary: for example, an operator is replacing a token.
 */
const refusedMs = 10_000;
/**
 * Maximum time to wait, in milliseconds, until the coordinator has acknowledged the end of the
 * session.
 */
const leaveMs = 1_000;

export interface SessionKeeperOptions {
  readonly connection: LeaderConnection;
  readonly environment: Environment;
  readonly attemptMs: number;
  /** Returns the `Join` message for a session that joins now. */
  readonly introduce: () => Join;
  /**
   * Called with each new connection of the session, and with undefined when a connection is lost.
   */
  readonly onStream: (stream: SessionStream | undefined) => void;
  /** Called when the coordinator has acknowledged the session. */
  readonly onJoined: (epoch: string) => void;
  readonly onFailure: (doing: string, error: unknown) => void;
}

/**
 * Keeps one session joined to the leader: joins, joins again after each lost connection, and at
 * last leaves.
 */
export class SessionKeeper {
  readonly #options: SessionKeeperOptions;
  readonly #leaving = new AbortController();
  #known!: Promise<void>;
  readonly #running: Promise<void>;
  #stream: SessionStream | undefined;
  #settle!: { readonly resolve: () => void; readonly reject: (error: unknown) => void };
  #wasKnown = false;

  constructor(options: SessionKeeperOptions) {
    this.#options = options;
    this.#expect();
    this.#running = this.#run();
  }

  #expect(): void {
    this.#known = new Promise((resolve, reject) => {
      this.#settle = { resolve, reject };
    });
    // Callers of `known` get the rejection.
    this.#known.catch(() => undefined);
  }

  /**
   * Resolves when the session has joined. Rejects if the coordinator refuses it, although the session
   * tries to join again later. Also rejects when it leaves, or when `signal` is aborted.
   */
  known(signal: AbortSignal | undefined): Promise<void> {
    return unlessAborted(this.#known, signal, "Joining the cluster");
  }

  /** Leaves the cluster, within a second. Never rejects. */
  async leave(): Promise<void> {
    const { environment } = this.#options;
    const stream = this.#stream;
    this.#leaving.abort();
    if (stream !== undefined && !stream.isOver) {
      stream.finish();
      const options = { environment, timeoutMs: leaveMs, doing: "Leaving the cluster" };
      await within(options, () => stream.over).catch(() => stream.cancel());
    }
    this.#settle.reject(abortError(this.#leaving.signal, "Joining the cluster"));
    await this.#running;
  }

  async #run(): Promise<void> {
    const { environment } = this.#options;
    let failures = 0;
    while (!this.#isLeaving) {
      const error = await this.#stand().catch((failure: unknown) => failure as PercolatorError);
      if (this.#isLeaving) return;
      if (this.#wasJoined) failures = 0;
      this.#wasJoined = false;
      // If the refusal named a leader, the client tries that leader at once, but only once: two
      // coordinators could name each other forever.
      if (error instanceof NotLeaderError && failures === 0) {
        failures++;
        continue;
      }
      this.#options.onFailure("keeping the session known to the coordinator", error);
      const isRefused = error instanceof CoordinatorError;
      if (isRefused && !this.#wasKnown) {
        this.#settle.reject(error);
        this.#expect();
      }
      const delayMs = isRefused ? refusedMs : backoffDelay(environment, retrying, ++failures);
      await sleep(environment, delayMs, this.#leaving.signal).catch(() => undefined);
    }
  }

  #wasJoined = false;

  get #isLeaving(): boolean {
    return this.#leaving.signal.aborted;
  }

  /** Joins, and waits until the connection ends. Resolves to the reason why it ended. */
  async #stand(): Promise<PercolatorError> {
    const { connection, introduce, onStream, onJoined } = this.#options;
    const doing = "Joining the cluster of the coordinator";
    const stream = await connection.ask(doing, this.#leaving.signal, async (channel, signal) => {
      const opened = new SessionStream(channel, introduce());
      const cancel = () => opened.cancel();
      signal.addEventListener("abort", cancel, { once: true });
      // Steps from now on are sent after the `Join` message.
      onStream(opened);
      this.#stream = opened;
      try {
        onJoined(await opened.joined);
        return opened;
      } catch (error) {
        onStream(undefined);
        throw error;
      } finally {
        signal.removeEventListener("abort", cancel);
      }
    });
    this.#wasKnown = true;
    this.#wasJoined = true;
    this.#settle.resolve();
    const reason = await stream.over;
    onStream(undefined);
    return await connection.failed(stream.channel, reason);
  }
}
