import { overlap, type Place } from "../world/index.js";

/** What may happen to a waiting request. */
export type StepAction =
  /** Applied and answered. */
  | "apply"
  /** Applied, but the answer is lost. */
  | "lose-answer"
  /** Not applied yet, and perhaps never. The client gets no answer. */
  | "delay"
  /** Applied and answered. A copy arrives later, or never. */
  | "repeat"
  /** Answered by a wrong guess. */
  | "guess"
  /** A request that the client no longer waits for arrives. */
  | "arrive"
  /** The client stops for good. */
  | "stop"
  /** A timer of the client fires. */
  | "fire";

/** One possible next step. */
export interface Step {
  /** Identifies the step in every execution that reaches the same state. */
  readonly key: string;
  readonly client: string;
  /** Number of the client's request or timer. */
  readonly number: number;
  readonly action: StepAction;
  readonly places: readonly Place[];
  readonly changes: boolean;
  /** The number of the group to which a change belongs, as in `WaitingRequest`. */
  readonly group?: number | undefined;
  /** Whether the step uses up a part of the fault budget. */
  readonly isFault: boolean;
  /**
   * Whether the step is possible only after certain steps of other clients. The explorer always
   * tries such a step in every order.
   */
  readonly isOrdered: boolean;
}

/**
 * Whether two steps lead to the same state in either order, and neither enables or prevents the
 * other.
 */
export function areIndependent(a: Step, b: Step): boolean {
  if (a.isOrdered || b.isOrdered || (a.isFault && b.isFault)) return false;
  if (a.client === b.client) {
    // A client waits for all changes of one group together. The order of any other answers may
    // matter to it.
    const isOneGo = a.group !== undefined && a.group === b.group && a.number !== b.number;
    if (!isOneGo || a.isFault || b.isFault) return false;
  }
  if (!a.changes && !b.changes) return true;
  return !a.places.some((place) => b.places.some((other) => overlap(place, other)));
}
