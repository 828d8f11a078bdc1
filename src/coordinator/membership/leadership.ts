import { setMaxListeners } from "node:events";
import type { Environment, Timer } from "../../environment/index.js";
import { NotLeaderError, OracleUnavailableError, type PercolatorError } from "../../errors/index.js";
import { type LeaderStatus, OracleLeader, type OracleLeaderOptions } from "../../oracle/index.js";
import { maxStallMs } from "../limits.js";
import { MembershipTable } from "./membership-table.js";

/** One uninterrupted period of leadership, with its membership table. */
export interface Term {
  readonly table: MembershipTable;
  /** Aborted when the term ends. Clients get the signal's reason. */
  readonly signal: AbortSignal;
}

interface RunningTerm extends Term {
  readonly epoch: number;
  readonly ending: AbortController;
}

/** Tracks whether this coordinator leads. Each term begins with an empty membership table. */
export class Leadership {
  readonly leader: OracleLeader;
  readonly #environment: Environment;
  readonly #onChange: (status: LeaderStatus) => void;
  readonly #onLook: () => void;
  #term: RunningTerm | undefined;
  #seenAt: number;
  #timer: Timer | undefined;

  /**
   * `onLook` is called several times a second, because no event tells when a lease expires. It must
   * not throw.
   */
  constructor(options: OracleLeaderOptions, onLook: () => void = () => undefined) {
    this.#environment = options.environment;
    this.#onLook = onLook;
    this.#onChange = options.onChange ?? (() => undefined);
    this.#seenAt = options.environment.monotonic();
    this.leader = new OracleLeader({ ...options, onChange: (status) => this.#changed(status) });
  }

  start(): void {
    this.leader.start();
    this.#watch();
  }

  /** Releases the lease so that a standby takes over at once. Never rejects. */
  async stop(): Promise<void> {
    this.#timer?.cancel();
    await this.leader.stop();
  }

  /** The current term. Undefined unless the lease holds. */
  get currentTerm(): Term | undefined {
    return this.leader.holds ? this.#term : undefined;
  }

  /** The current term. Throws a `NotLeaderError` if the lease does not hold. */
  term(): Term {
    this.#look();
    // `latest` throws if the lease may have expired. Another leader may then know sessions that
    // this table does not have.
    this.leader.latest();
    if (this.#term === undefined) throw new NotLeaderError("it does not lead yet. Ask again.");
    return this.#term;
  }

  #changed(status: LeaderStatus): void {
    if (status.role === "leading") {
      if (this.#term?.epoch !== status.epoch) this.#begin(status.epoch);
    } else {
      this.#end(
        new NotLeaderError("it no longer leads. Ask the leader.", {
          leader: status.role === "standby" ? status.leader : undefined,
        }),
      );
    }
    this.#onChange(status);
  }

  #begin(epoch: number): void {
    this.#end(new NotLeaderError("it has begun a new term without sessions. Join again."));
    const ending = new AbortController();
    // Every session adds a listener, so this turns off Node's warning about many listeners.
    setMaxListeners(0, ending.signal);
    const table = new MembershipTable(`${epoch}-${this.#environment.uniqueId()}`);
    this.#term = { epoch, table, ending, signal: ending.signal };
  }

  #end(reason: PercolatorError): void {
    const term = this.#term;
    this.#term = undefined;
    term?.ending.abort(reason);
  }

  /**
   * Detects that this process was paused. During the pause, its clients may have made assumptions
   * that contradict this table. A new term with an empty table therefore begins.
   */
  #look(): void {
    const now = this.#environment.monotonic();
    const stoodMs = now - this.#seenAt;
    this.#seenAt = now;
    if (stoodMs < maxStallMs || this.#term === undefined) return;
    const { epoch } = this.#term;
    this.#end(
      new OracleUnavailableError(
        `it was paused for ${Math.round(stoodMs)} ms, and has dropped all sessions. Join again.`,
      ),
    );
    this.#begin(epoch);
  }

  #watch(): void {
    this.#look();
    this.#onLook();
    const everyMs = maxStallMs / 8;
    this.#timer = this.#environment.setTimer(() => this.#watch(), everyMs, { background: true });
  }
}
