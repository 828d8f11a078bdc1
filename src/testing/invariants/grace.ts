import type { RegisteredObserver, RegistryView } from "../../observer/index.js";

export interface RegistrationGraceOptions {
  /**
   * How long clients may be unaware of an observer after its registration, in milliseconds. 0 means
   * that all clients know of it at once.
   */
  readonly graceMs: number;
  readonly now: () => number;
  readonly newestTimestamp: () => number;
}

interface Registration {
  readonly since: number;
  /** The time from which all clients know of the observer. */
  readonly knownAt: number;
  /** The newest timestamp when the grace period ended. Undefined until then. */
  knownFrom: number | undefined;
}

/**
 * Computes the commit timestamp from which a new observer must have its hints. Clients cache the
 * registry for a time, and they take a commit timestamp before they read that cache. The grace
 * period is therefore measured in elapsed time, not in timestamps of the oracle.
 */
export class RegistrationGrace {
  readonly #options: RegistrationGraceOptions;
  readonly #registrations = new Map<string, Registration>();
  readonly #running = new Set<Registration>();

  constructor(options: RegistrationGraceOptions) {
    this.#options = options;
  }

  /** Records the observers that were registered before the watcher began. All clients know them. */
  adopt({ observers }: RegistryView): void {
    for (const { name, record } of observers.values())
      this.#registrations.set(name, { since: record.since, knownAt: 0, knownFrom: record.since });
  }

  /** Begins the grace period of each new observer. */
  begin({ observers }: RegistryView): void {
    const { graceMs, now } = this.#options;
    for (const { name, record } of observers.values()) {
      if (this.#registrations.get(name)?.since === record.since) continue;
      const knownFrom = graceMs === 0 ? record.since : undefined;
      const registration: Registration = { since: record.since, knownAt: now() + graceMs, knownFrom };
      this.#registrations.set(name, registration);
      if (knownFrom === undefined) this.#running.add(registration);
    }
  }

  /** Ends the grace periods that are over. Call it before each event. */
  passTime(): void {
    if (this.#running.size === 0) return;
    const now = this.#options.now();
    for (const registration of this.#running) {
      if (now < registration.knownAt) continue;
      registration.knownFrom = Math.max(registration.since, this.#options.newestTimestamp());
      this.#running.delete(registration);
    }
  }

  /** Returns the timestamp after which every committed change must have a hint for the observer. */
  knownFrom({ name, record }: RegisteredObserver): number {
    const registration = this.#registrations.get(name);
    if (registration === undefined) return record.since;
    return registration.knownFrom ?? Number.POSITIVE_INFINITY;
  }
}
