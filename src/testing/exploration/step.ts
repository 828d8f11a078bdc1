import { overlap, type Place } from "../world/index.js";

/** What may be done with a request that waits. */
export type Deed =
  /** Applied and answered. */
  | "apply"
  /** Applied; the answer is lost. */
  | "lose-answer"
  /** Not applied yet, and perhaps never; the client hears nothing. */
  | "delay"
  /** Applied and answered; a copy arrives later, or never. */
  | "repeat"
  /** Answered by a wrong guess. */
  | "guess"
  /** What the client no longer waits for arrives. */
  | "arrive"
  /** The client stops for good. */
  | "stop"
  /** A timer of the client fires. */
  | "fire";

/** One thing that may happen next. */
export interface Step {
  /** Names it in every execution that comes to the same state. */
  readonly key: string;
  readonly client: string;
  /** Which of the client's requests or timers. */
  readonly number: number;
  readonly deed: Deed;
  readonly places: readonly Place[];
  readonly changes: boolean;
  /** Of a change that its client sent in one go with others: which go it was. */
  readonly group?: number | undefined;
  /** Takes from the budget of faults. */
  readonly isFault: boolean;
  /** Whether it can happen depends on what others do: never put in another order unexamined. */
  readonly isOrdered: boolean;
}

/** Whether two steps come to the same in either order, and neither lets or keeps the other from happening. */
export function areIndependent(a: Step, b: Step): boolean {
  if (a.isOrdered || b.isOrdered || (a.isFault && b.isFault)) return false;
  if (a.client === b.client) {
    // What a client sent in one go it waits for together; of everything else the order may matter to it.
    const isOneGo = a.group !== undefined && a.group === b.group && a.number !== b.number;
    if (!isOneGo || a.isFault || b.isFault) return false;
  }
  if (!a.changes && !b.changes) return true;
  return !a.places.some((place) => b.places.some((other) => overlap(place, other)));
}
