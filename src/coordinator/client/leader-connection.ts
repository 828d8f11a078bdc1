import { type Environment, SingleFlight, throwIfAborted, unlessAborted } from "../../environment/index.js";
import {
  ClosedError,
  CoordinatorError,
  NotLeaderError,
  OracleUnavailableError,
  type PercolatorError,
} from "../../errors/index.js";
import { within } from "../../oracle/index.js";
import type { Security } from "../security/client-security.js";
import { isAddress } from "../wire/address.js";
import { errorOf } from "../wire/call-status.js";
import { Channel } from "./channel.js";
import type { Discovery } from "./discovery.js";
import { diagnose } from "./tls-diagnosis.js";

export interface LeaderConnectionOptions {
  readonly environment: Environment;
  readonly discovery: Discovery;
  readonly security: Security;
  /** How long one coordinator may take to answer, in milliseconds. */
  readonly attemptMs: number;
}

/** Maximum number of redirections to another coordinator that one request follows. */
const maxHops = 3;
/**
 * How long the client regards the leader as away after a request got no answer, in milliseconds.
 */
const awayMs = 500;
/** How long a diagnosis is reused, in milliseconds. */
const diagnosisMs = 2_000;

interface Diagnosis {
  readonly address: string;
  readonly at: number;
  readonly result: Promise<PercolatorError | undefined>;
}

/** The connection of this process to the leader. All requests of this process share it. */
export class LeaderConnection {
  readonly #options: LeaderConnectionOptions;
  readonly #environment: Environment;
  readonly #closing = new AbortController();
  #channel: Channel | undefined;
  readonly #finding = new SingleFlight<Channel>();
  /** The leader that another coordinator has named. */
  #pointedTo: string | undefined;
  /** The database that the coordinators must serve, as the last discovery found it. */
  #cluster: string | undefined;
  #awayUntil = Number.NEGATIVE_INFINITY;
  #diagnosis: Diagnosis | undefined;

  constructor(options: LeaderConnectionOptions) {
    this.#options = options;
    this.#environment = options.environment;
  }

  /**
   * Whether a recent request got no answer. The client then skips requests that only ask for
   * advice.
   */
  get isAway(): boolean {
    return this.#environment.monotonic() < this.#awayUntil;
  }

  /**
   * Sends a request to the leader, and follows redirections to it. Each coordinator that it asks
   * may take `attemptMs` to answer. Rejects with an error of this package: a `NotLeaderError` or an
   * `OracleUnavailableError` if asking again may help.
   */
  async ask<T>(
    doing: string,
    signal: AbortSignal | undefined,
    question: (channel: Channel, signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    for (let hop = 1; ; hop++) {
      const channel = await this.#find(signal, doing);
      try {
        const answer = await this.#attempt(`${doing} at ${channel.address}`, signal, (bounded) =>
          question(channel, bounded),
        );
        this.#awayUntil = Number.NEGATIVE_INFINITY;
        return answer;
      } catch (failure) {
        throwIfAborted(signal, doing);
        const error = await this.failed(channel, failure);
        if (!(error instanceof NotLeaderError) || this.#pointedTo === undefined || hop >= maxHops)
          throw error;
      }
    }
  }

  /** Records the failure of a channel and translates it into an error of this package. */
  async failed(channel: Channel, failure: unknown): Promise<PercolatorError> {
    if (this.#closing.signal.aborted) return closedError();
    const error = errorOf(failure, channel.address);
    if (error instanceof NotLeaderError) {
      if (this.#leave(channel) && error.leader !== channel.address) this.#follow(error.leader);
      return error;
    }
    // The next attempt looks for the database's own coordinator again.
    if (error instanceof CoordinatorError && error.reason === "cluster") this.#leave(channel);
    if (!(error instanceof OracleUnavailableError)) return error;
    const wasInUse = this.#leave(channel);
    if (wasInUse) this.#awayUntil = this.#environment.monotonic() + awayMs;
    return (await this.#diagnose(channel.address, wasInUse)) ?? error;
  }

  /** Rejects everything from now on. Calling it again has no effect. */
  close(): void {
    if (this.#closing.signal.aborted) return;
    this.#closing.abort(closedError());
    this.#channel?.drop();
    this.#channel = undefined;
  }

  async #attempt<T>(
    doing: string,
    signal: AbortSignal | undefined,
    ask: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const { environment, attemptMs: timeoutMs } = this.#options;
    return await within({ environment, timeoutMs, signal, doing }, ask);
  }

  async #find(signal: AbortSignal | undefined, doing: string): Promise<Channel> {
    throwIfAborted(signal, doing);
    if (this.#closing.signal.aborted) throw closedError();
    if (this.#channel !== undefined) return this.#channel;
    const channel = this.#finding.run(() => this.#connect());
    return await unlessAborted(channel, signal, doing);
  }

  async #connect(): Promise<Channel> {
    const { discovery, security } = this.#options;
    const address = this.#pointedTo ?? (await this.#discover(discovery));
    this.#pointedTo = undefined;
    if (this.#closing.signal.aborted) throw closedError();
    this.#channel = new Channel(address, security, { cluster: this.#cluster });
    return this.#channel;
  }

  /** Remembers the named leader if it is an address. */
  #follow(leader: string | undefined): void {
    this.#pointedTo = leader !== undefined && isAddress(leader) ? leader : undefined;
  }

  async #discover(discovery: Discovery): Promise<string> {
    try {
      const { address, cluster } = await discovery.next(this.#closing.signal);
      this.#cluster = cluster;
      if (isAddress(address)) return address;
      throw new CoordinatorError(
        `The lease in the store names ${JSON.stringify(address)} as the leader, which is not a HOST:PORT: an oracle that is not a ` +
          "coordinator holds the lease. Stop it, and start a coordinator.",
        { reason: "use" },
      );
    } catch (error) {
      this.#awayUntil = this.#environment.monotonic() + awayMs;
      throw error;
    }
  }

  /** Drops a channel. True if it was the one in use. */
  #leave(channel: Channel): boolean {
    channel.drop();
    if (this.#channel !== channel) return false;
    this.#channel = undefined;
    return true;
  }

  /** Diagnoses an address. Failures at about the same time share one diagnosis. */
  async #diagnose(address: string, isNew: boolean): Promise<PercolatorError | undefined> {
    const { environment, security } = this.#options;
    const now = environment.monotonic();
    const known = this.#diagnosis;
    if (known !== undefined && known.address === address && now - known.at < diagnosisMs) {
      return await known.result;
    }
    if (!isNew) return undefined;
    const result = diagnose(address, security, environment);
    this.#diagnosis = { address, at: now, result };
    return await result;
  }
}

function closedError(): ClosedError {
  return new ClosedError("The client of the coordinator was closed. Open the database again.");
}
