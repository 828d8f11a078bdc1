import type { Network, Request } from "../world/index.js";
import type { SimulationCounts } from "./counts.js";
import type { Fate } from "./fate.js";
import type { Machine } from "./machine.js";
import type { World } from "./world.js";

export interface WireOptions {
  readonly world: World;
  /** Whose requests they are. */
  readonly machine: Machine;
  readonly counts: SimulationCounts;
  /** Decides what becomes of a request, by its number. */
  readonly fate: (machine: Machine, number: number, request: Request) => Fate;
  /** The greatest timestamp that anybody was given. */
  readonly newestTimestamp: () => number;
  /** Told of a timestamp that a store's counter gave. */
  readonly onTimestamp: (askedAfter: number, timestamp: number) => void;
  /**
   * Says that the store is in the sender's own process: a request is done only while the sender runs, and requests that fall into one span of
   * so many milliseconds are asked together. 0: each by itself. Undefined: the store is elsewhere.
   */
  readonly embeddedEveryMs?: number | undefined;
}

/** One request on its way. */
interface Sent<T> {
  readonly request: Request<T>;
  readonly number: number;
  readonly askedAfter: number;
  readonly resolve: (answer: T) => void;
  readonly reject: (error: unknown) => void;
}

/** What stands between one machine and what it shares with others. */
export class Wire implements Network {
  readonly #options: WireOptions;
  #sent = 0;
  #underWay = 0;

  constructor(options: WireOptions) {
    this.#options = options;
  }

  /** Requests that are on their way to what never fails, those included that nobody waits for any more. */
  get underWay(): number {
    const { embeddedEveryMs, machine } = this.#options;
    // What a process had asked of a store of its own ends with the process.
    return embeddedEveryMs !== undefined && machine.isStopped ? 0 : this.#underWay;
  }

  /** To what never fails by itself. */
  send<T>(request: Request<T>): Promise<T> {
    return this.#send(request, undefined);
  }

  /** To another machine, which may stand still or have stopped. Whoever sends it waits only as long as it likes. */
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
    // What is on its way to a machine that stops never arrives.
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
      // Who serves it may wait for others first; a store does not.
      return receiver === undefined ? doing : undefined;
    });
  }

  async #apply<T>(sent: Sent<T>, answerAfterMs: number | undefined): Promise<void> {
    const tell = await this.#done(sent, answerAfterMs);
    tell();
  }

  /** Has the store do it. Gives what sends the answer on its way. */
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

  /** Looks at the protocol's own tables that find nothing come all the time, and say nothing. */
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
