import { type Hash, HashSum, hashText, type Network, type Request } from "../world/index.js";
import { ClientEnvironment, type WorldTime } from "./client-environment.js";
import type { ClientEnd } from "./program.js";

/** A request of a client that has not been answered. */
export interface WaitingRequest {
  readonly number: number;
  readonly request: Request;
  /** Changes that were sent in one go: they are waited for together, in whatever order they are answered. */
  readonly group: number | undefined;
  /** The greatest timestamp that anybody had been given when it was sent. */
  readonly sentAfter: number;
  readonly resolve: (answer: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/** One client of an execution: what it waits for, and what it has been answered. */
export class ExploredClient implements Network {
  readonly environment: ClientEnvironment;
  readonly waiting = new Map<number, WaitingRequest>();
  /** Set while requests are answered at once, before the execution begins and after it has ended. */
  isDirect = true;
  end: ClientEnd | undefined;
  /** How often the store had changed when a timer of this client last fired; -1: none has. */
  changesAtFire = -1;
  /** How often one fired while others could go on. */
  earlyFires = 0;
  /** All answers but those of the last group, in their order. */
  #chain: Hash = hashText("");
  #group: number | undefined;
  /** Those of the last group, in no order. */
  #answers = new HashSum();
  readonly #reads = new HashSum();
  readonly #newestTimestamp: () => number;
  readonly #time: WorldTime;
  #sent = 0;

  constructor(
    readonly name: string,
    time: WorldTime,
    newestTimestamp: () => number,
    isRunning?: (processName: string) => boolean | undefined,
  ) {
    this.environment = new ClientEnvironment(name, time, isRunning);
    this.environment.onTime = (passed) => this.heard(0, undefined, `the time ${passed}`);
    this.#time = time;
    this.#newestTimestamp = newestTimestamp;
  }

  get isStopped(): boolean {
    return this.end?.outcome === "stopped";
  }

  /** Whether nothing that it began goes on. */
  get isOver(): boolean {
    return this.end !== undefined && this.waiting.size === 0;
  }

  /** What it knows: all that it has been answered. Once it is over, what it read and how it ended is all that counts. */
  get knowledge(): string {
    if (this.isOver) return `${this.#reads}${this.#endShown()}`;
    return `${this.#chain.high},${this.#chain.low},${this.#answers}`;
  }

  #endShown(): string {
    const end = this.end!;
    if (end.outcome !== "returned") return end.outcome;
    return JSON.stringify(end.value) ?? "";
  }

  /** Remembers what a transaction of this client read. */
  read(what: string): void {
    this.#reads.add(hashText(what));
  }

  send<T>(request: Request<T>): Promise<T> {
    if (this.isDirect) return Promise.resolve(request.apply());
    const number = ++this.#sent;
    return new Promise<T>((resolve, reject) => {
      // Whoever has stopped waits for ever.
      if (this.isStopped) return;
      this.waiting.set(number, {
        number,
        request: request as Request,
        group: request.kind === "mutate" || request.kind === "commit" ? this.#time.step : undefined,
        sentAfter: this.#newestTimestamp(),
        resolve: resolve as (answer: unknown) => void,
        reject,
      });
    });
  }

  /** Remembers an answer as part of what the client knows. */
  heard(number: number, group: number | undefined, what: string): void {
    if (group === undefined || group !== this.#group) {
      this.#chain = hashText(`${this.#chain.high},${this.#chain.low},${this.#answers}`);
      this.#answers = new HashSum();
      this.#group = group;
    }
    this.#answers.add(hashText(`${this.name}#${number}=${what}`));
  }

  /** Gives an answer, which then is part of what the client knows. */
  answer({ number, group, request, resolve }: WaitingRequest, answer: unknown): void {
    this.heard(number, group, request.digest(answer));
    resolve(answer);
  }

  /** No answer comes. */
  lose({ number, group, request, resolve, reject }: WaitingRequest): void {
    this.heard(number, group, "lost");
    try {
      resolve(request.lost());
    } catch (error) {
      reject(error);
    }
  }

  /** It stops for good; what it waited for is returned. */
  stop(): readonly WaitingRequest[] {
    this.end = { outcome: "stopped" };
    this.environment.stop();
    const left = [...this.waiting.values()];
    this.waiting.clear();
    return left;
  }
}
