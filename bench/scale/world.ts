import { SeededRandom } from "percolatordb/testing";
import type { Costs } from "./costs.js";
import { Counts } from "./counts.js";
import { exponential, zipf } from "./distributions.js";
import { EventLoop } from "./event-loop.js";
import { HintTable, type ModelHint, placesOfObserver } from "./hint-table.js";
import { RowTable } from "./row-table.js";
import type { ScaleSettings } from "./settings.js";
import { Station } from "./station.js";

export type Latency = "read" | "write";

/** The cluster that a model's workers share: time, tablet servers, the coordinator, and what stands in the store. */
export class World {
  readonly loop = new EventLoop();
  readonly random: SeededRandom;
  readonly counts = new Counts();
  readonly servers: readonly Station[];
  readonly coordinator = new Station("coordinator");
  readonly claimServices: readonly Station[];
  readonly hints: HintTable;
  readonly rows = new RowTable();
  readonly drawRow: () => number;
  #hash = 0x811c9dc5;

  constructor(
    readonly settings: ScaleSettings,
    readonly costs: Costs,
  ) {
    this.random = new SeededRandom(settings.seed);
    this.servers = Array.from({ length: settings.servers }, (_, index) => new Station(`server ${index}`));
    const { claimServices } = settings.design;
    this.claimServices =
      claimServices === 1
        ? [this.coordinator]
        : Array.from({ length: claimServices }, (_, index) => new Station(`claims ${index}`));
    this.hints = new HintTable(settings.workload.observers, this.random.fork("places"));
    const { rows, exponent } = settings.workload;
    const rank = zipf(rows, exponent);
    const random = this.random.fork("rows");
    this.drawRow = () => rank(random);
  }

  /** The server of the small table that holds sessions, registry and safepoint: one tablet. */
  get systemServer(): Station {
    return this.servers[0]!;
  }

  /** The server of a hint's tablet. */
  hintServer({ observer, place }: Pick<ModelHint, "observer" | "place">): Station {
    const { design, workload } = this.settings;
    const part = (observer * placesOfObserver + place) / (workload.observers * placesOfObserver);
    return this.servers[(1 + Math.floor(part * design.hintTablets)) % this.servers.length]!;
  }

  /** The server of some row of data: the less busy of two, since the service moves tablets away from busy ones. */
  dataServer(): Station {
    const { servers, random, loop } = this;
    const one = servers[random.below(servers.length)]!;
    const other = servers[random.below(servers.length)]!;
    return one.waitAt(loop.now) <= other.waitAt(loop.now) ? one : other;
  }

  /** A request of a client, whose processor is first needed for `clientCost`, to one server. */
  request(
    client: Station,
    clientCost: number,
    server: Station,
    service: number,
    latency: Latency,
    answered: () => void,
  ): void {
    const sent = client.serve(this.loop.now, clientCost);
    this.loop.at(sent, () => this.loop.at(this.#answerAt(server, service, latency), answered));
  }

  /** Requests of one client for `count` rows wherever they are, sent at once; answered when the last one is. */
  requests(
    client: Station,
    clientCost: number,
    count: number,
    service: number,
    latency: Latency,
    answered: () => void,
  ): void {
    const sent = client.serve(this.loop.now, clientCost);
    this.loop.at(sent, () => {
      let last = this.loop.now;
      for (let index = 0; index < count; index++) {
        last = Math.max(last, this.#answerAt(this.dataServer(), service, latency));
      }
      this.loop.at(last, answered);
    });
  }

  /** The service that has the claims of one client's next message. With several of them a message goes to each in its turn. */
  claimService(turn: number): Station {
    return this.claimServices[turn % this.claimServices.length]!;
  }

  /** A message to the coordinator or a service of claims, and its answer. `answered` gets the moment at which it was taken. */
  message(client: Station, service: number, answered: (taken: number) => void, to = this.coordinator): void {
    const sent = client.serve(this.loop.now, this.costs.client.message);
    this.loop.at(sent, () => {
      const { network } = this.costs;
      const taken = to.serve(this.loop.now + network, service);
      this.loop.at(taken + network, () => answered(taken));
    });
  }

  /** Folds something that happened into the run's hash. */
  note(number: number): void {
    this.#hash = Math.imul(this.#hash ^ Math.floor(number * 1e6), 0x01000193) >>> 0;
  }

  get hash(): string {
    return `${this.#hash.toString(16).padStart(8, "0")}/${this.loop.happened}`;
  }

  #answerAt(server: Station, service: number, kind: Latency): number {
    const { network, readLatency, writeLatency } = this.costs;
    const latency = kind === "read" ? readLatency : writeLatency;
    const more = latency.more === 0 ? 0 : exponential(this.random, latency.more);
    return server.serve(this.loop.now + network, service) + network + latency.always + more;
  }
}
