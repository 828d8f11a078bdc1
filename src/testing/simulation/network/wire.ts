import type { Network, Request } from "../../world/index.js";
import type { SimulationCounts } from "../plan/counts.js";
import type { Fate } from "../plan/fate.js";
import type { Machine } from "../world/machine.js";
import type { World } from "../world/world.js";

export interface WireOptions {
  readonly world: World;
  /** The machine that sends the requests. */
  readonly machine: Machine;
  readonly counts: SimulationCounts;
  /** Decides the fate of a request by its number. */
  readonly fate: (machine: Machine, number: number, request: Request) => Fate;
  /** Returns the greatest timestamp that any process has received. */
  readonly newestTimestamp: () => number;
  /** Called with each timestamp that a store's counter assigned. */
  readonly onTimestamp: (askedAfter: number, timestamp: number) => void;
  /**
   * Set for a store within the sender's process, which performs a request only while the sender
   * runs. Requests within one interval of this many milliseconds are sent together. 0 sends each
   * request alone. Undefined means that the store is elsewhere.
   */
  readonly embeddedEveryMs?: number | undefined;
}

/** A request that was sent. */
interface Sent<T> {
  readonly request: Request<T>;
  readonly number: number;
  readonly askedAfter: number;
  readonly resolve: (answer: T) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * The network between one machine and the stores, oracles and services that it shares with other
 * machines.
 */
export class Wire implements Network {
  readonly #options: WireOptions;
  #sent = 0;
  #underWay = 0;

  constructor(options: WireOptions) {
    this.#options = options;
  }

  /**
   * Count of requests on their way to receivers that never fail, including those whose sender no
   * longer waits.
   */
  get underWay(): number {
    const { embeddedEveryMs, machine } = this.#options;
    // Requests to a store within a process end with the process.
    return embeddedEveryMs !== undefined && machine.isStopped ? 0 : this.#underWay;
  }

  /** Sends a request to a receiver that never fails by itself. */
  send<T>(request: Request<T>): Promise<T> {
    return this.#send(request, undefined);
  }

  /**
   * Sends a request to another machine, which may be paused or stopped. The sender decides how long
   * it waits.
   */
  sendTo<T>(receiver: Machine, request: Request<T>): Promise<T> {
    return this.#send(request, receiver);
  }

  #send<T>(request: Request<T>, receiver: Machine | undefined): Promise<T> {
    const { machine, counts, world, newestTimestamp } = this.#options;
    const number = ++this.#sent;
    counts.requests++;
    return new Promise<T>((resolve, reject) => {
      if (machine.isStopped) return;
      const sent = { request, number, askedAfter: newestTimestamp(), resolve, reject };
      const fate = this.#options.fate(machine, number, request as Request);
      if (world.isTraced && fate.fault !== undefined)
        world.note(machine.processName, `#${number} ${showFate(fate)}: ${clip(request.describe())}`);
      const { arrivals, answered, backMs, lostAfterMs } = fate;
      if (lostAfterMs !== undefined) this.#loseAfter(sent, lostAfterMs);
      for (const [index, afterMs] of arrivals.entries()) {
        const isAnswered = lostAfterMs === undefined && index === answered;
        this.#arrive(sent, receiver, world.time + afterMs, isAnswered ? backMs : undefined);
      }
    });
  }

  #arrive<T>(
    sent: Sent<T>,
    receiver: Machine | undefined,
    at: number,
    answerAfterMs: number | undefined,
  ): void {
    const { world, machine, embeddedEveryMs } = this.#options;
    // A request to a machine that stops never arrives, so it is not counted.
    if (receiver === undefined) this.#underWay++;
    if (receiver === undefined && embeddedEveryMs !== undefined) {
      const together = embeddedEveryMs === 0 ? at : Math.ceil(at / embeddedEveryMs) * embeddedEveryMs;
      world.plan(together, "request", machine, () => {
        this.#underWay--;
        return this.#done(sent, answerAfterMs);
      });
      return;
    }
    world.plan(at, "arrival", receiver, () => {
      if (receiver === undefined) this.#underWay--;
      const doing = this.#apply(sent, answerAfterMs);
      // The world runs no other event until a store has answered. It does not wait for another
      // machine, because that machine may need further events before it can answer.
      return receiver === undefined ? doing : undefined;
    });
  }

  async #apply<T>(sent: Sent<T>, answerAfterMs: number | undefined): Promise<void> {
    const tell = await this.#done(sent, answerAfterMs);
    tell();
  }

  /** Performs the request. Returns a function that sends the answer. */
  async #done<T>(sent: Sent<T>, answerAfterMs: number | undefined): Promise<() => void> {
    try {
      const answer = await sent.request.apply();
      return () => this.#answered(sent, answerAfterMs, answer);
    } catch (error) {
      return () => this.#refused(sent, answerAfterMs, error);
    }
  }

  #refused<T>(sent: Sent<T>, answerAfterMs: number | undefined, error: unknown): void {
    const { machine, world } = this.#options;
    const { request, number } = sent;
    if (world.isTraced)
      world.note(machine.processName, `#${number} ${clip(request.describe())} is refused: ${String(error)}`);
    if (answerAfterMs !== undefined) this.#answer(answerAfterMs, () => sent.reject(error));
  }

  #answered<T>(sent: Sent<T>, answerAfterMs: number | undefined, answer: T): void {
    const { world } = this.#options;
    const { request, number } = sent;
    if (request.kind === "timestamp" && typeof answer === "number")
      this.#options.onTimestamp(sent.askedAfter, answer);
    world.hash.addText(request.kind === "read" ? "read" : request.digest(answer));
    if (world.isTraced) this.#note(number, request, request.show(answer));
    if (answerAfterMs !== undefined) this.#answer(answerAfterMs, () => sent.resolve(answer));
  }

  /**
   * Adds a line to the trace. Leaves out searches of the protocol's own tables that find nothing:
   * they are frequent and say nothing.
   */
  #note<T>(number: number, request: Request<T>, answer: string): void {
    const { machine, world } = this.#options;
    const isIdle = answer === "nothing" && request.places.every(({ table }) => table.startsWith("~"));
    if (!isIdle) world.note(machine.processName, `#${number} ${clip(request.describe())} -> ${clip(answer)}`);
  }

  #answer(afterMs: number, tell: () => void): void {
    const { world, machine } = this.#options;
    world.plan(world.time + afterMs, "answer", machine, tell);
  }

  #loseAfter<T>({ request, number, resolve, reject }: Sent<T>, afterMs: number): void {
    const { world, machine } = this.#options;
    world.plan(world.time + afterMs, "answer", machine, () => {
      if (world.isTraced) world.note(machine.processName, `#${number} has got no answer`);
      try {
        resolve(request.lost());
      } catch (error) {
        reject(error);
      }
    });
  }
}

function showFate({ fault, arrivals }: Fate): string {
  const when = arrivals.map((afterMs) => `${afterMs.toFixed(1)} ms`).join(" and ");
  return `${fault}${when === "" ? "" : `, and arrives after ${when}`}`;
}

const longestLine = 400;

function clip(text: string): string {
  return text.length <= longestLine ? text : `${text.slice(0, longestLine)}…`;
}
