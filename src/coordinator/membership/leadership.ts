import { setMaxListeners } from "node:events";
import type { Environment, Timer } from "../../environment/index.js";
import { NotLeaderError, OracleUnavailableError, type PercolatorError } from "../../errors/index.js";
import { type LeaderStatus, OracleLeader, type OracleLeaderOptions } from "../../oracle/index.js";
import { maxStallMs } from "../limits.js";
import { MembershipTable } from "./membership-table.js";

/** What a leader keeps for as long as it leads without a break, and what ends with it. */
export interface Term {
  readonly table: MembershipTable;
  /** Aborted when the term is over; its reason is what clients are told. */
  readonly signal: AbortSignal;
}

interface RunningTerm extends Term {
  readonly epoch: number;
  readonly ending: AbortController;
}

/** Whether this coordinator leads, and the table that it keeps while it does. */
export class Leadership {
  readonly leader: OracleLeader;
  readonly #environment: Environment;
  readonly #onChange: (status: LeaderStatus) => void;
  readonly #onLook: () => void;
  #term: RunningTerm | undefined;
  #seenAt: number;
  #timer: Timer | undefined;

  /** `onLook`: called several times a second, since a lease runs out without an event. Must not throw. */
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

  /** Gives up the lease, so that another takes over at once. Never rejects. */
  async stop(): Promise<void> {
    this.#timer?.cancel();
    await this.leader.stop();
  }

  /** The term of this moment; undefined unless the lease holds. */
  get currentTerm(): Term | undefined {
    return this.leader.holds ? this.#term : undefined;
  }

  /** The term of this moment. A `NotLeaderError` where the lease does not hold. */
  term(): Term {
    this.#look();
    // Throws where it cannot be sure to lead: what stands on the table may then be known better elsewhere.
    this.leader.latest();
    if (this.#term === undefined) throw new NotLeaderError("it does not lead yet. Ask again.");
    return this.#term;
  }

  #changed(status: LeaderStatus): void {
    if (status.role === "leading") {
      if (this.#term?.epoch !== status.epoch) this.#begin(status.epoch);
    } else {
      this.#end(
        new NotLeaderError("it leads no longer. Ask the leader.", {
          leader: status.role === "standby" ? status.leader : undefined,
        }),
      );
    }
    this.#onChange(status);
  }

  #begin(epoch: number): void {
    this.#end(new NotLeaderError("it leads anew, and has forgotten what it was told. Tell it again."));
    const ending = new AbortController();
    // Every session listens to it.
    setMaxListeners(0, ending.signal);
    const table = new MembershipTable(`${epoch}-${this.#environment.uniqueId()}`);
    this.#term = { epoch, table, ending, signal: ending.signal };
  }

  #end(reason: PercolatorError): void {
    const term = this.#term;
    this.#term = undefined;
    term?.ending.abort(reason);
  }

  /** Notices that the process stood still: clients may then believe of it what is no longer so. */
  #look(): void {
    const now = this.#environment.monotonic();
    const stoodMs = now - this.#seenAt;
    this.#seenAt = now;
    if (stoodMs < maxStallMs || this.#term === undefined) return;
    const { epoch } = this.#term;
    this.#end(
      new OracleUnavailableError(
        `it stood still for ${Math.round(stoodMs)} ms, and has forgotten what it was told. Tell it again.`,
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
