import type { EventMap } from "../../events/index.js";

const maxNames = 20_000;
/** The name of a transaction without observer and label. */
export const unnamedTransaction = "transaction";
/** The name of a transaction that no process that reports here remembers. */
export const unseenTransaction = "unseen transaction";

/** The name of a transaction: its observer, its label, or `transaction`. */
export function nameOf({ cause, label }: Pick<EventMap["transaction"], "cause" | "label">): string {
  return cause?.observer ?? label ?? unnamedTransaction;
}

/**
 * Remembers the names of the newest transactions by their timestamps, because a conflict knows only
 * the timestamp of its winner.
 */
export class Winners {
  readonly #names = new Map<number, string>();

  add(timestamp: number, name: string): void {
    this.#names.set(timestamp, name);
    if (this.#names.size > maxNames) this.#names.delete(this.#names.keys().next().value!);
  }

  /**
   * Adds a transaction's name under its commit timestamp. If the transaction held locks, also adds
   * the name under its start timestamp: a transaction that conflicts with a lock knows only that
   * timestamp.
   */
  addTransaction(event: EventMap["transaction"]): void {
    const name = nameOf(event);
    if (event.commitTimestamp !== undefined) this.add(event.commitTimestamp, name);
    const heldLocks = event.phases === 2 || event.spans.some((span) => span.name === "prewrite");
    if (heldLocks) this.add(event.startTimestamp, name);
  }

  of(timestamp: number | undefined): string | undefined {
    return timestamp === undefined ? undefined : this.#names.get(timestamp);
  }
}
