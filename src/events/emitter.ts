import { onRejection } from "../environment/index.js";
import { InvalidArgumentError } from "../errors/index.js";
import { eventCatalogue } from "./catalogue.js";
import type { EventListener, EventMap, EventName } from "./events.js";

/**
 * Calls the listeners of an event synchronously, in the order in which they were added. If a
 * listener throws or rejects, the emitter removes it and reports the failure.
 */
export class Emitter {
  readonly #listeners = new Map<EventName, ReadonlySet<(event: never) => void>>();

  /** Adds a listener. Call the returned function to remove it. */
  on<N extends EventName>(name: N, listener: EventListener<N>): () => void {
    // A function may listen twice, so each registration has its own.
    const own: EventListener<N> = (event) => listener(event);
    this.#listeners.set(name, new Set([...(this.#listeners.get(name) ?? []), own]));
    return () => this.#remove(name, own);
  }

  /** Whether an event has listeners. If it has none, callers do not build the event. */
  hasListeners(name: EventName): boolean {
    return this.#listeners.has(name);
  }

  emit<N extends EventName>(name: N, event: EventMap[N]): void {
    for (const listener of this.#listeners.get(name) ?? []) {
      const failed = (error: unknown) => this.#failed(name, listener, error);
      try {
        onRejection((listener as EventListener<N>)(event), failed);
      } catch (error) {
        failed(error);
      }
    }
  }

  #failed(name: EventName, listener: (event: never) => void, error: unknown): void {
    this.#remove(name, listener);
    if (name === "backgroundFailure") return;
    this.emit("backgroundFailure", { doing: `A listener of the event "${name}"`, error });
  }

  #remove(name: EventName, listener: (event: never) => void): void {
    const rest = new Set(this.#listeners.get(name) ?? []);
    rest.delete(listener);
    if (rest.size === 0) this.#listeners.delete(name);
    else this.#listeners.set(name, rest);
  }
}

/** Throws an InvalidArgumentError if no event has this name: the listener would never be called. */
export function checkListener(name: unknown, listener: unknown): void {
  if (typeof name !== "string" || !Object.hasOwn(eventCatalogue, name)) {
    const known = Object.keys(eventCatalogue).join(", ");
    throw new InvalidArgumentError(
      `\`db.on\` has no event ${typeof name === "string" ? `"${name}"` : `of type ${typeof name}`}. There are ${known}.`,
    );
  }
  if (typeof listener === "function") return;
  throw new InvalidArgumentError(
    `\`db.on\` takes a function that gets the event "${name}", not ${typeof listener}.`,
  );
}
