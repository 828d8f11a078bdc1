import type { Coordinator } from "../coordinator/index.js";
import type { Environment, Timer } from "../environment/index.js";
import { type LeaderFailure, type LeaseRecord, readLease } from "../oracle/index.js";
import type { RowStore } from "../store/index.js";
import type { CoordinatorChoice } from "./coordinator-choice.js";

export interface StandInOptions {
  readonly store: RowStore;
  readonly environment: Environment;
  readonly choice: CoordinatorChoice;
  readonly onFailure: (failure: LeaderFailure) => void;
}

const watchEveryMs = 5_000;
const readMs = 5_000;
/** A lease that nobody holds, or renews, is left for so long to whoever is to hold it, besides its own length. */
const graceMs = 5_000;

/**
 * The coordinator that a process starts where there is no other: at once where nobody leads, and later where nobody has
 * led for a while, so that a small cluster outlives the process that led it.
 */
export class CoordinatorStandIn {
  readonly #options: StandInOptions;
  #coordinator: Promise<Coordinator> | undefined;
  #timer: Timer | undefined;
  #watching: Promise<void> = Promise.resolve();
  #isClosed = false;
  #seen: { readonly revision: number; readonly at: number } | undefined;

  constructor(options: StandInOptions) {
    this.#options = options;
  }

  /** `answers`: whether somebody leads and can be reached. */
  async open(answers: () => Promise<boolean>): Promise<void> {
    const lease = await this.#read();
    if (lease === undefined || lease.holder === "" || !(await answers())) await this.#start();
    else this.#watch();
  }

  #read(): Promise<LeaseRecord | undefined> {
    const { store, environment } = this.#options;
    return readLease({ store, environment, timeoutMs: readMs });
  }

  async #start(): Promise<void> {
    const { store, environment, choice, onFailure } = this.#options;
    const { listen, advertise, serverTls: tls, leaseMs } = choice;
    const token = typeof choice.token === "function" ? choice.token() : choice.token;
    const { startCoordinator } = await import("../coordinator/index.js");
    if (this.#isClosed) return;
    const asked = { store, environment, listen, advertise, tls, token, leaseMs, onFailure };
    this.#coordinator ??= startCoordinator(asked);
    try {
      await this.#coordinator;
    } catch (error) {
      // The next look is to try again.
      this.#coordinator = undefined;
      throw error;
    }
  }

  #watch(): void {
    if (this.#isClosed) return;
    const { environment, onFailure } = this.#options;
    const look = () => {
      this.#watching = this.#look().catch((error: unknown) => {
        onFailure({ doing: "looking whether a coordinator leads", error });
        this.#watch();
      });
    };
    this.#timer = environment.setTimer(look, watchEveryMs, { background: true });
  }

  async #look(): Promise<void> {
    const lease = await this.#read();
    if (this.#isClosed) return;
    if (this.#isAbandoned(lease)) await this.#start();
    else this.#watch();
  }

  /** Whether nobody has written to it for longer than any leader leaves it. */
  #isAbandoned(lease: LeaseRecord | undefined): boolean {
    const now = this.#options.environment.monotonic();
    const revision = lease?.revision ?? 0;
    if (this.#seen?.revision !== revision) this.#seen = { revision, at: now };
    return now - this.#seen.at >= (lease?.leaseMs ?? 0) + graceMs;
  }

  /** Stops the coordinator, where it was started: another one may lead at once. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#timer?.cancel();
    await this.#watching;
    const coordinator = await this.#coordinator?.catch(() => undefined);
    await coordinator?.stop();
  }
}
