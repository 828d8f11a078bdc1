import { Station } from "./station.js";
import type { World } from "./world.js";

type Take = (taken: number) => void;

/** Sends a request for so many, and tells the moment at which the coordinator had it when the answer is there. */
type Send = (count: number, answered: Take) => void;

/** What a client gathers: one request under way, which serves those who had asked before it was sent. */
class Gatherer {
  #waiting: Take[] = [];
  #count = 0;
  #isAsking = false;

  constructor(
    readonly world: World,
    readonly send: Send,
  ) {}

  ask(count: number, take: Take): void {
    this.#waiting.push(take);
    this.#count += count;
    if (this.#isAsking) return;
    this.#isAsking = true;
    this.world.loop.after(this.world.settings.design.gather, () => this.#ask());
  }

  #ask(): void {
    const served = this.#waiting;
    const count = this.#count;
    this.#waiting = [];
    this.#count = 0;
    this.send(count, (taken) => {
      if (this.#waiting.length === 0) this.#isAsking = false;
      else this.world.loop.after(this.world.settings.design.gather, () => this.#ask());
      for (const take of served) take(taken);
    });
  }
}

/** A process's connection to the coordinator: timestamps on one stream, claims on another. */
export class CoordinatorClient {
  readonly #timestamps: Gatherer;
  readonly #claims: Gatherer;

  constructor(
    readonly world: World,
    /** Of the process, for its messages. */
    readonly processor: Station,
    /** Another one of the same machine, that gathers for several; undefined: the coordinator itself. */
    relay: CoordinatorClient | undefined,
  ) {
    const { message, claim } = world.costs.coordinator;
    this.#timestamps = new Gatherer(world, (count, answered) => {
      if (relay !== undefined) this.#through(relay, (take) => relay.timestamps(count, take), answered);
      else {
        world.counts.timestamps += count;
        world.counts.timestampRequests++;
        world.message(processor, message, answered);
      }
    });
    let turn = world.random.below(world.claimServices.length);
    this.#claims = new Gatherer(world, (count, answered) => {
      if (relay !== undefined) this.#through(relay, (take) => relay.claim(count, take), answered);
      else world.message(processor, message + claim * count, answered, world.claimService(turn++));
    });
  }

  /** A timestamp; `take` gets the moment at which it was given. */
  next(take: Take): void {
    this.timestamps(1, take);
  }

  timestamps(count: number, take: Take): void {
    this.#timestamps.ask(count, take);
  }

  /** Claims, or gives back, so many hints. */
  claim(count: number, take: Take): void {
    this.#claims.ask(count, take);
  }

  /** A message on the machine itself. */
  #through(relay: CoordinatorClient, ask: (take: Take) => void, answered: Take): void {
    const { loop, costs } = this.world;
    const sent = this.processor.serve(loop.now, costs.client.message);
    loop.at(sent, () => {
      loop.at(relay.processor.serve(loop.now, costs.client.message), () => ask(answered));
    });
  }
}

/** The clients of all workers; with `perRelay` more than one, so many share a relay with a processor of its own. */
export function coordinatorClients(world: World): (number: number, processor: Station) => CoordinatorClient {
  const { perRelay } = world.settings.design;
  const relays = new Map<number, CoordinatorClient>();
  const relayOf = (number: number) => {
    if (perRelay <= 1) return undefined;
    const machine = Math.floor(number / perRelay);
    let relay = relays.get(machine);
    if (relay === undefined) {
      relay = new CoordinatorClient(world, new Station(`relay ${machine}`), undefined);
      relays.set(machine, relay);
    }
    return relay;
  };
  return (number, processor) => new CoordinatorClient(world, processor, relayOf(number));
}
