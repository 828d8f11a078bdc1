import type { Coordinator, Secrets, SecretsWatch } from "../../coordinator/index.js";
import { type Environment, sleep, type Timer } from "../../environment/index.js";
import { InvalidArgumentError } from "../../errors/index.js";
import { type LeaderFailure, type LeaseRecord, lookAgain, type SeenLease } from "../../oracle/index.js";
import type { RowStore } from "../../store/index.js";
import { type CoordinatorChoice, tokensOf } from "./coordinator-choice.js";

export interface StandInOptions {
  readonly store: RowStore;
  readonly environment: Environment;
  readonly choice: CoordinatorChoice;
  readonly onFailure: (failure: LeaderFailure) => void;
}

const watchEveryMs = 5_000;
const readMs = 5_000;
/**
 * This process starts a coordinator if the lease has not changed for its own length plus this time,
 * in milliseconds. During this time, other coordinators can take the expired lease.
 */
const graceMs = 5_000;
/** Time between two looks for a coordinator that has taken the address, in milliseconds. */
const lookEveryMs = 100;

/**
 * The coordinator that a process starts if the cluster has none. It starts at once if no
 * coordinator leads, and later if the leader is lost. A small cluster therefore continues after its
 * leading process has ended.
 */
export class CoordinatorStandIn {
  readonly #options: StandInOptions;
  #coordinator: Promise<Coordinator> | undefined;
  #secrets: SecretsWatch | undefined;
  #timer: Timer | undefined;
  #watching: Promise<void> = Promise.resolve();
  #isClosed = false;
  #seen: SeenLease | undefined;

  constructor(options: StandInOptions) {
    this.#options = options;
  }

  /** `answers`: returns whether a coordinator leads and this process can reach it. */
  async open(answers: () => Promise<boolean>): Promise<void> {
    if (await this.#isLed(answers)) this.#watch();
    else await this.#start().catch((error: unknown) => this.#giveWay(error, answers));
  }

  async #isLed(answers: () => Promise<boolean>): Promise<boolean> {
    const lease = await this.#read();
    return lease !== undefined && lease.holder !== "" && (await answers());
  }

  /**
   * If the address is taken, another process may have started a coordinator there at the same
   * moment. Waits until it leads.
   */
  async #giveWay(error: unknown, answers: () => Promise<boolean>): Promise<void> {
    const { environment } = this.#options;
    const until = environment.monotonic() + graceMs;
    while (!(await this.#isLed(answers))) {
      if (!isAddressTaken(error) || environment.monotonic() >= until) throw error;
      await sleep(environment, lookEveryMs);
    }
    this.#watch();
  }

  async #read(): Promise<LeaseRecord | undefined> {
    const { store, environment } = this.#options;
    this.#seen = await lookAgain(this.#seen, { store, environment, timeoutMs: readMs });
    return this.#seen.lease?.record;
  }

  async #start(): Promise<void> {
    const { store, environment, choice, onFailure } = this.#options;
    const { listen, advertise, leaseMs } = choice;
    checkTls(choice);
    const { SecretsWatch: Watch, startCoordinator } = await import("../../coordinator/index.js");
    if (this.#isClosed) return;
    const first = secretsOf(choice);
    this.#coordinator ??= startCoordinator({
      ...{ store, environment, listen, advertise, leaseMs, seen: this.#seen, onFailure },
      ...first,
    });
    try {
      const coordinator = await this.#coordinator;
      const read = () => secretsOf(choice);
      const onSecretsFailure = (doing: string, error: unknown) => onFailure({ doing, error });
      this.#secrets ??= new Watch({ environment, coordinator, first, read, onFailure: onSecretsFailure });
      if (!this.#isClosed) this.#secrets.start();
    } catch (error) {
      // The next check of the lease tries again.
      this.#coordinator = undefined;
      throw error;
    }
  }

  #watch(): void {
    if (this.#isClosed) return;
    const { environment, onFailure } = this.#options;
    const look = () => {
      this.#watching = this.#look().catch((error: unknown) => {
        onFailure({ doing: "looking for a coordinator that leads", error });
        this.#watch();
      });
    };
    this.#timer = environment.setTimer(look, watchEveryMs, { background: true });
  }

  async #look(): Promise<void> {
    const lease = await this.#read();
    if (this.#isClosed) return;
    if (this.#unchangedMs >= (lease?.leaseMs ?? 0) + graceMs) await this.#start();
    else this.#watch();
  }

  /** How long the lease has not changed. A live leader renews it several times within its length. */
  get #unchangedMs(): number {
    return this.#options.environment.monotonic() - (this.#seen?.at ?? 0);
  }

  /**
   * Stops the coordinator if this process started one. A coordinator in another process may then
   * lead at once.
   */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#timer?.cancel();
    this.#secrets?.stop();
    await this.#watching;
    const coordinator = await this.#coordinator?.catch(() => undefined);
    await coordinator?.stop();
  }
}

function isAddressTaken(error: unknown): boolean {
  return error instanceof InvalidArgumentError && String(error.cause).includes("EADDRINUSE");
}

/** Returns the current secrets. */
function secretsOf(choice: CoordinatorChoice): Secrets {
  const { serverTls } = choice;
  return { token: tokensOf(choice), tls: typeof serverTls === "function" ? serverTls() : serverTls };
}

/**
 * Checks that `tls` and `serverTls` are given together. This process is a client of the coordinator
 * that it starts, so both sides must speak TLS, or neither.
 */
function checkTls({ tls, serverTls }: CoordinatorChoice): void {
  const asksTls = tls !== undefined && tls !== false;
  if (asksTls === (serverTls !== undefined)) return;
  throw new InvalidArgumentError(
    asksTls
      ? "No leading coordinator answers. One inside this process (`start`, --coordinator auto) would not use TLS, but this process asks for " +
          "TLS (`tls`, --tls, --tls-ca, PERCOLATOR_TLS_CA). Leave out TLS, or start `percolator coordinator` with --tls-cert and " +
          "--tls-key. A program can also give the coordinator's certificate (`serverTls`)."
      : "A coordinator inside this process uses TLS because of `serverTls`, and this process is its client. Give `tls` as well: the " +
          "authority of the coordinator's certificate.",
  );
}
