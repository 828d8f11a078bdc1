import { type Hash, HashSum, hashText, type Network, type Request } from "../world/index.js";
import { ClientEnvironment, type WorldTime } from "./client-environment.js";
import type { ClientEnd } from "./program.js";
import { showData } from "./show-data.js";

/** A request of a client that has no answer yet. */
export interface WaitingRequest {
  readonly number: number;
  readonly request: Request;
  /**
   * The number of the group to which this change belongs: all changes that the client sent in the
   * same step. The client waits for all their answers, which may come in any order. Undefined for
   * requests other than changes.
   */
  readonly group: number | undefined;
  /** The greatest timestamp that the oracle had issued when the client sent the request. */
  readonly sentAfter: number;
  readonly resolve: (answer: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * One client of an execution: the requests that it waits for, and the answers that it has received.
 */
export class ExploredClient implements Network {
  readonly environment: ClientEnvironment;
  readonly waiting = new Map<number, WaitingRequest>();
  /**
   * Whether requests are answered at once. This is so before the execution begins and after it
   * ends.
   */
  isDirect = true;
  end: ClientEnd | undefined;
  /** The count of store changes when a timer of this client last fired, or -1 if none has fired. */
  changesAtFire = -1;
  /** Count of timers that fired while other clients could continue. */
  earlyFires = 0;
  /** Hash of all answers in order, except those of the last group. */
  #chain: Hash = hashText("");
  #group: number | undefined;
  /** Hash of the last group's answers, the same in any order. */
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
    this.environment.onTime = (passed) => this.received(0, undefined, `the time ${passed}`);
    this.#time = time;
    this.#newestTimestamp = newestTimestamp;
  }

  get isStopped(): boolean {
    return this.end?.outcome === "stopped";
  }

  /** Whether nothing that the client began continues. */
  get isOver(): boolean {
    return this.end !== undefined && this.waiting.size === 0;
  }

  /**
   * Identifies what the client knows: all answers that it has received. After the client has ended,
   * only its reads and its outcome count.
   */
  get knowledge(): string {
    if (this.isOver) return `${this.#reads}${this.#endShown()}`;
    return `${this.#chain.high},${this.#chain.low},${this.#answers}`;
  }

  #endShown(): string {
    const end = this.end!;
    if (end.outcome !== "returned") return end.outcome;
    return showData(end.value);
  }

  /** Records what a transaction of this client read. */
  read(what: string): void {
    this.#reads.add(hashText(what));
  }

  send<T>(request: Request<T>): Promise<T> {
    if (this.isDirect) return Promise.resolve(request.apply());
    const number = ++this.#sent;
    return new Promise<T>((resolve, reject) => {
      // A stopped client waits forever.
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

  /** Adds an answer to what the client knows. */
  received(number: number, group: number | undefined, what: string): void {
    if (group === undefined || group !== this.#group) {
      this.#chain = hashText(`${this.#chain.high},${this.#chain.low},${this.#answers}`);
      this.#answers = new HashSum();
      this.#group = group;
    }
    this.#answers.add(hashText(`${this.name}#${number}=${what}`));
  }

  /** Answers a request, and adds the answer to what the client knows. */
  answer({ number, group, request, resolve }: WaitingRequest, answer: unknown): void {
    this.received(number, group, request.digest(answer));
    resolve(answer);
  }

  /** Reports to the client that no answer comes. */
  lose({ number, group, request, resolve, reject }: WaitingRequest): void {
    this.received(number, group, "lost");
    try {
      resolve(request.lost());
    } catch (error) {
      reject(error);
    }
  }

  /** Stops the client for good. Returns the requests that it waited for. */
  stop(): readonly WaitingRequest[] {
    this.end = { outcome: "stopped" };
    this.environment.stop();
    const left = [...this.waiting.values()];
    this.waiting.clear();
    return left;
  }
}
