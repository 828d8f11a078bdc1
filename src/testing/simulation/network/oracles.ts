import { OracleUnavailableError } from "../../../errors/index.js";
import {
  gatheredOracle,
  type Oracle,
  OracleLeader,
  type TimestampRange,
  within,
} from "../../../oracle/index.js";
import type { RowStore } from "../../../store/index.js";
import { DistantStore, namedPlace, type Request } from "../../world/index.js";
import type { Machine } from "../world/machine.js";
import { electedOracle } from "./elected.js";
import type { Wire } from "./wire.js";

const oraclePlace = namedPlace("oracle");

/** The source of timestamps for a store that does not assign them. */
export interface OracleService {
  /** Returns a client of it. */
  client(machine: Machine, wire: Wire): Oracle;
}

/** An oracle that never fails by itself: one counter, which requests reach over the network. */
export class SingleOracle implements OracleService {
  #last = 0;
  readonly #machine: Machine;

  /** `machine`: supplies the clock. */
  constructor(machine: Machine) {
    this.#machine = machine;
  }

  /** The oracle without a network between it and its caller. */
  readonly direct: Oracle = {
    next: async () => this.#take(1).first,
    latest: () => this.#last,
  };

  #take(count: number): TimestampRange {
    const first = Math.max(this.#last + 1, Math.floor(this.#machine.now() * 1_000));
    this.#last = first + count - 1;
    return { first, count };
  }

  client(environment: Machine, wire: Wire): Oracle {
    return gatheredOracle({
      environment,
      retryForMs: 3_000,
      request: (count, signal) =>
        within({ environment, timeoutMs: 1_000, signal, doing: "Asking the oracle" }, () =>
          wire.send(rangeRequest(count, async () => this.#take(count))),
        ),
    });
  }
}

/** One candidate for leadership, with its own machine and its own connection to the store. */
export interface Candidate {
  readonly machine: Machine;
  readonly leader: OracleLeader;
}

export interface ElectedOptions {
  readonly store: RowStore;
  readonly leaseMs: number;
  readonly wire: (machine: Machine) => Wire;
  readonly onLeading: () => void;
}

/** Several candidates, one of which leads. */
export class ElectedOracle implements OracleService {
  readonly candidates: Candidate[];
  readonly #options: ElectedOptions;

  constructor(machines: readonly Machine[], options: ElectedOptions) {
    this.#options = options;
    this.candidates = machines.map((machine, index) => this.#stand(index, machine));
  }

  #stand(index: number, machine: Machine): Candidate {
    const { store, leaseMs, wire, onLeading } = this.#options;
    const leader = new OracleLeader({
      store: new DistantStore({ store, network: wire(machine) }),
      environment: machine,
      name: nameOf(index),
      leaseMs,
      windowMs: Math.min(1_000, leaseMs),
      onChange: ({ role }) => {
        if (role === "leading") onLeading();
      },
    });
    leader.start();
    return { machine, leader };
  }

  /** Replaces a candidate that has stopped. */
  replace(index: number, machine: Machine): void {
    this.candidates[index] = this.#stand(index, machine);
  }

  client(environment: Machine, wire: Wire): Oracle {
    return electedOracle({
      environment,
      candidateTimeoutMs: 400,
      retryForMs: 10_000,
      candidates: this.candidates.map((_, index) => ({
        name: nameOf(index),
        request: (count) => this.#ask(wire, index, (leader) => rangeRequest(count, () => leader.next(count))),
      })),
    });
  }

  #ask<T>(wire: Wire, index: number, request: (leader: OracleLeader) => Request<T>): Promise<T> {
    const { machine, leader } = this.candidates[index]!;
    return wire.sendTo(machine, request(leader));
  }
}

/** Returns the name by which clients know a candidate. A replacement process keeps the name. */
function nameOf(index: number): string {
  return `candidate ${index + 1}`;
}

function rangeRequest(count: number, apply: () => Promise<TimestampRange>): Request<TimestampRange> {
  return {
    kind: "other",
    places: [oraclePlace],
    changes: true,
    mayBeLate: false,
    mayRepeat: false,
    describe: () => `take ${count} timestamps`,
    apply,
    lost: noAnswer,
    show: ({ first }) => String(first),
    digest: ({ first }) => String(first),
  };
}

function noAnswer(): never {
  throw new OracleUnavailableError("The oracle did not answer in time. Try again.");
}
