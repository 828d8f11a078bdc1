import type { EventMap } from "../../events/index.js";

const most = 20_000;
/** What somebody is called who has no name. */
export const nameless = "transaction";

/** What a transaction is called: its observer, its label, or `transaction`. */
export function nameOf({ cause, label }: Pick<EventMap["transaction"], "cause" | "label">): string {
  return cause?.observer ?? label ?? nameless;
}

/** Which transactions stood at which timestamps: the newest, so many. */
export class Winners {
  readonly #names = new Map<number, string>();

  add(timestamp: number, name: string): void {
    this.#names.set(timestamp, name);
    if (this.#names.size > most) this.#names.delete(this.#names.keys().next().value!);
  }

  /** By its commit timestamp; by its start timestamp too where it held locks. */
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
