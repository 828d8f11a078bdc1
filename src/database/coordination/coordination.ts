import type { CoordinatorClient } from "../../coordinator/index.js";
import { backoffDelay, type Environment, sleep } from "../../environment/index.js";
import { CoordinatorError, OracleUnavailableError } from "../../errors/index.js";
import type { Cluster } from "../../observer/index.js";
import { type LeaderFailure, type Oracle, readLease } from "../../oracle/index.js";
import type { RowStore } from "../../store/index.js";
import { type CoordinatorChoice, tokensOf } from "./coordinator-choice.js";
import { CoordinatorStandIn } from "./coordinator-stand-in.js";

/** The state of the coordinator of a database's cluster, as {@link Database.status} reports it. */
export interface CoordinatorStatus {
  /** `HOST:PORT` of the leader, from the lease in the store. Undefined if no coordinator leads. */
  readonly leader: string | undefined;
  /** Number of the current term. Each new leader increases it. */
  readonly epoch: number;
  /**
   * Whether the coordinator answers this process. Undefined if this process does not use a
   * coordinator.
   */
  readonly answers: boolean | undefined;
  /** Sessions that send heartbeats to the coordinator. Undefined if it does not answer. */
  readonly sessions: ReadonlySet<string> | undefined;
  /** The sessions that have a run in progress. Undefined if the coordinator does not answer. */
  readonly busy: ReadonlySet<string> | undefined;
}

export interface CoordinationOptions {
  readonly store: RowStore;
  readonly environment: Environment;
  readonly choice: CoordinatorChoice;
  /**
   * Whether the coordinator assigns timestamps. If so, the database cannot work until the
   * coordinator answers.
   */
  readonly isOracle: boolean;
  readonly onFailure: (failure: LeaderFailure) => void;
}

/**
 * Shortest time to wait for a leader, in milliseconds. A standby may be about to take over an
 * expired lease.
 */
const minPatienceMs = 15_000;
const asking = { initialMs: 50, maximumMs: 1_000 };
const readMs = 5_000;

/**
 * A database's connection to the coordinator of its cluster, and the coordinator that this process
 * has started, if any.
 */
export class Coordination {
  readonly cluster: Cluster;
  /** Undefined if the store assigns timestamps. */
  readonly oracle: Oracle | undefined;
  readonly #options: CoordinationOptions;
  readonly #client: CoordinatorClient;
  readonly #standIn: CoordinatorStandIn | undefined;
  #closing: Promise<void> | undefined;

  private constructor(
    options: CoordinationOptions,
    client: CoordinatorClient,
    standIn: CoordinatorStandIn | undefined,
  ) {
    this.#options = options;
    this.#client = client;
    this.#standIn = standIn;
    this.cluster = client.cluster;
    this.oracle = options.isOracle ? client.oracle : undefined;
  }

  /**
   * Connects to the leader. If there is none and the options ask for it, starts a coordinator in
   * this process.
   *
   * @throws OracleUnavailableError if the coordinator assigns timestamps and none answers.
   * @throws CoordinatorError if the coordinator refuses this process.
   */
  static async open(options: CoordinationOptions): Promise<Coordination> {
    const { store, environment, choice } = options;
    const { connectCoordinator } = await import("../../coordinator/index.js");
    let last: unknown;
    const onFailure = (failure: LeaderFailure) => {
      last = failure.error;
      options.onFailure(failure);
    };
    const { addresses, tls } = choice;
    const token = () => tokensOf(choice)[0];
    const client = connectCoordinator({ store, addresses, environment, token, tls, onFailure });
    const standIn = choice.start ? new CoordinatorStandIn({ ...options, onFailure }) : undefined;
    const coordination = new Coordination(options, client, standIn);
    try {
      await standIn?.open(() => coordination.#answers());
      await coordination.#wait(() => last);
      return coordination;
    } catch (error) {
      await coordination.close();
      throw error;
    }
  }

  async #answers(): Promise<boolean> {
    return (await this.cluster.activity()) !== undefined;
  }

  /**
   * Waits until the coordinator that assigns timestamps answers, and throws if it does not. The
   * wait gives a standby time to take over from a leader that has just ended.
   */
  async #wait(failure: () => unknown): Promise<void> {
    const { store, environment, choice, isOracle } = this.#options;
    const startedAt = environment.monotonic();
    let seen: number | undefined;
    for (let attempt = 1; ; attempt++) {
      if (await this.#answers()) return;
      const error = failure();
      if (error instanceof CoordinatorError) throw error;
      // A coordinator that is not the oracle only gives advice, so the database opens without it.
      if (!isOracle) return;
      const lease = await readLease({ store, environment, timeoutMs: readMs });
      const patienceMs =
        lease === undefined && choice.addresses === undefined && !choice.start
          ? 0
          : Math.max(minPatienceMs, 2 * (lease?.leaseMs ?? 0));
      seen ??= lease?.revision;
      if (environment.monotonic() - startedAt >= patienceMs) {
        // A leader that lives has renewed its lease meanwhile.
        throw lease?.revision === seen ? this.#nobody(error) : this.#unreachable(error);
      }
      await sleep(environment, backoffDelay(environment, asking, attempt));
    }
  }

  #nobody(cause: unknown): OracleUnavailableError {
    const { store, choice } = this.#options;
    const where = choice.addresses === undefined ? "" : ` at ${choice.addresses.join(", ")}`;
    return new OracleUnavailableError(
      `No coordinator leads the cluster of ${store.description}${where}, which needs one for its timestamps. Start one with ` +
        '"percolator coordinator LOCATION", or open the database with `coordinator: "auto"` (PERCOLATOR_COORDINATOR=auto).',
      { cause },
    );
  }

  #unreachable(cause: unknown): OracleUnavailableError {
    const said = cause instanceof Error ? `: ${cause.message}` : ".";
    return new OracleUnavailableError(
      `A coordinator leads the cluster of ${this.#options.store.description}, but it does not answer this process${said} ` +
        "If it runs on another machine, let it listen and advertise where this one can reach it (--listen, --advertise).",
      { cause },
    );
  }

  /** Resolves if the leader answers this process. Rejects with the reason if it does not. */
  check(signal: AbortSignal): Promise<void> {
    return this.#client.check(signal);
  }

  async status(): Promise<CoordinatorStatus> {
    const { store, environment } = this.#options;
    const status = await coordinatorStatus(store, environment);
    const activity = await this.cluster.activity();
    return {
      leader: status?.leader,
      epoch: status?.epoch ?? 0,
      answers: activity !== undefined,
      sessions: activity?.sessions,
      busy: activity?.busy,
    };
  }

  /**
   * Leaves the cluster, and stops the coordinator that this process started. A second call does
   * nothing more.
   */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    await this.#client.close();
    await this.#standIn?.close();
  }
}

/**
 * Returns the leader and the epoch from the lease in the store. Undefined if the cluster never had
 * a leader.
 */
export async function coordinatorStatus(
  store: RowStore,
  environment: Environment,
): Promise<CoordinatorStatus | undefined> {
  const lease = await readLease({ store, environment, timeoutMs: readMs });
  if (lease === undefined) return undefined;
  return {
    leader: lease.holder === "" ? undefined : lease.name,
    epoch: lease.epoch,
    answers: undefined,
    sessions: undefined,
    busy: undefined,
  };
}
