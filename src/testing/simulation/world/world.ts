import { settle } from "../../exploration/settle.js";
import type { SeededRandom } from "../../world/index.js";
import {
  type EventKind,
  type EventMachine,
  EventQueue,
  type Happening,
  type SimulatedEvent,
} from "./event-queue.js";
import { RunningHash } from "./running-hash.js";

export interface WorldOptions {
  readonly random: SeededRandom;
  /** Whether processes on one machine can tell whether another still runs. */
  readonly knowsProcesses: boolean;
  /** Receives a line of text for each event. */
  readonly trace?: string[] | undefined;
  /** Called before each event of a machine. The machine may then stop or pause. */
  readonly before: (machine: EventMachine) => unknown;
}

const kindCodes: Readonly<Record<EventKind, number>> = {
  arrival: 1,
  answer: 2,
  timer: 3,
  other: 4,
  request: 5,
};

/** The time and the events of a run. It runs one event after another, always in the same order. */
export class World {
  readonly random: SeededRandom;
  /** Milliseconds since the beginning. */
  time = 0;
  /** Count of events so far. */
  events = 0;
  readonly hash = new RunningHash();
  readonly #options: WorldOptions;
  readonly #queue = new EventQueue();
  readonly #machines = new Map<string, EventMachine>();
  #planned = 0;
  readonly #outside = new Set<Promise<unknown>>();

  constructor(options: WorldOptions) {
    this.random = options.random;
    this.#options = options;
  }

  add(machine: EventMachine): void {
    this.#machines.set(machine.processName, machine);
  }

  isRunning(processName: string): boolean | undefined {
    if (!this.#options.knowsProcesses) return undefined;
    const machine = this.#machines.get(processName);
    return machine === undefined ? undefined : !machine.isStopped;
  }

  get isTraced(): boolean {
    return this.#options.trace !== undefined;
  }

  /** Adds a line to the trace: when, which process, what. */
  note(who: string, what: string): void {
    this.#options.trace?.push(`${this.time.toFixed(2).padStart(10)} ${who}: ${what}`);
  }

  plan(
    at: number,
    kind: EventKind,
    machine: EventMachine | undefined,
    happen: () => Happening,
  ): SimulatedEvent {
    const event = { at, order: ++this.#planned, kind, machine, happen, isCancelled: false };
    this.#queue.push(event);
    return event;
  }

  /**
   * Performs real work, such as the I/O of a folder. No time passes and no event happens until it
   * has ended.
   */
  async outside<T>(work: () => T | Promise<T>): Promise<T> {
    const working = (async () => work())();
    this.#outside.add(working);
    try {
      return await working;
    } finally {
      this.#outside.delete(working);
    }
  }

  /**
   * Runs the next event and everything that follows from it. Resolves to false if no event is left.
   */
  async step(): Promise<boolean> {
    if (this.#outside.size > 0) {
      await Promise.allSettled(this.#outside);
      await settle();
      return true;
    }
    const event = this.#next();
    if (event === undefined) return false;
    const happening = [this.#happen(event)];
    // Requests of the same moment are sent in one turn, so that a store can group them.
    while (event.kind === "request" && this.#hasRequestNow())
      happening.push(this.#happen(this.#queue.pop()!));
    // Reports their answers in the order of the requests, even if the store finishes them in a
    // different order.
    for (const each of happening) {
      const tell = await each;
      if (typeof tell === "function") tell();
    }
    await settle();
    return true;
  }

  #hasRequestNow(): boolean {
    const { first } = this.#queue;
    return first !== undefined && first.kind === "request" && first.at <= this.time;
  }

  #happen(event: SimulatedEvent): Happening {
    const { machine } = event;
    if (event.isCancelled || machine?.isStopped) return;
    this.time = Math.max(this.time, event.at);
    if (machine !== undefined) {
      machine.happened++;
      this.#options.before(machine);
      if (machine.isStopped) return;
      if (machine.pausedUntil > this.time) {
        this.#putOff(event, machine.pausedUntil);
        return;
      }
    }
    this.events++;
    this.hash.addNumber(this.time);
    this.hash.addNumber(kindCodes[event.kind]);
    if (machine !== undefined) this.hash.addText(machine.processName);
    return event.happen();
  }

  #next(): SimulatedEvent | undefined {
    for (;;) {
      const event = this.#queue.pop();
      if (event === undefined) return undefined;
      const { machine } = event;
      if (event.isCancelled || machine?.isStopped) continue;
      if (machine === undefined || machine.pausedUntil <= event.at) return event;
      this.#putOff(event, machine.pausedUntil);
    }
  }

  /**
   * Delays an event until its machine continues. Events keep the order in which they were planned.
   */
  #putOff(event: SimulatedEvent, until: number): void {
    event.at = until;
    this.#queue.push(event);
  }
}
