/**
 * What an event returns. If it is a promise, the world waits for it. If the promise resolves to a
 * function, that function reports what the event did. The world calls it after the functions of
 * earlier events.
 */
export type Happening = void | Promise<void> | Promise<() => void>;

export type EventKind = "arrival" | "answer" | "timer" | "request" | "other";

/** The part of a machine that the event queue needs. */
export interface EventMachine {
  readonly processName: string;
  /** Events that have happened to it. */
  happened: number;
  /** World time until which the machine is paused. */
  readonly pausedUntil: number;
  /** Whether the machine has stopped for good. */
  readonly isStopped: boolean;
}

/** An event at a moment of the world's time. */
export interface SimulatedEvent {
  /** Milliseconds of the world's time. */
  at: number;
  /** Orders events of the same moment: the one that was planned first comes first. */
  readonly order: number;
  readonly kind: EventKind;
  /**
   * The machine that the event happens to. The event waits while the machine is paused, and never
   * happens after the machine has stopped. Undefined for a receiver that never fails.
   */
  readonly machine: EventMachine | undefined;
  readonly happen: () => Happening;
  isCancelled: boolean;
}

/** The planned events, in the order of their times. */
export class EventQueue {
  readonly #heap: SimulatedEvent[] = [];

  get size(): number {
    return this.#heap.length;
  }

  /** The next event. */
  get first(): SimulatedEvent | undefined {
    return this.#heap[0];
  }

  push(event: SimulatedEvent): void {
    const heap = this.#heap;
    let index = heap.length;
    heap.push(event);
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if (!isBefore(event, heap[parent]!)) break;
      heap[index] = heap[parent]!;
      index = parent;
    }
    heap[index] = event;
  }

  pop(): SimulatedEvent | undefined {
    const heap = this.#heap;
    const first = heap[0];
    const last = heap.pop();
    if (last === undefined || first === last) return first;
    let index = 0;
    for (;;) {
      let child = 2 * index + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && isBefore(heap[child + 1]!, heap[child]!)) child++;
      if (!isBefore(heap[child]!, last)) break;
      heap[index] = heap[child]!;
      index = child;
    }
    heap[index] = last;
    return first;
  }
}

function isBefore(a: SimulatedEvent, b: SimulatedEvent): boolean {
  return a.at < b.at || (a.at === b.at && a.order < b.order);
}
