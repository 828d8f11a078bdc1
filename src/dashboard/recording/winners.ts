import type { EventMap } from "../../events/index.js";

const maxNames = 20_000;
/** The name of a transaction without observer and label. */
export const nameless = "transaction";

/** The name of a transaction: its observer, its label, or `transaction`. */
export function nameOf({ cause, label }: Pick<EventMap["transaction"], "cause" | "label">): string {
  return cause?.observer ?? label ?? nameless;
}

/** The names of the newest transactions by timestamp, to name the winners of conflicts. */
export class Winners {
  readonly #names = new Map<number, string>();

  add(timestamp: number, name: string): void {
    this.#names.set(timestamp, name);
    if (this.#names.size > maxNames) this.#names.delete(this.#names.keys().next().value!);
  }

  /** Adds a name by commit timestamp, and by start timestamp too if the transaction held locks. */
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
