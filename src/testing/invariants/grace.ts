import type { RegisteredObserver, RegistryView } from "../../observer/index.js";

export interface RegistrationGraceOptions {
  /** How long after its registration clients may not know of an observer, in milliseconds; 0: not at all. */
  readonly graceMs: number;
  readonly now: () => number;
  readonly newestTimestamp: () => number;
}

interface Registration {
  readonly since: number;
  /** When everybody knows of it. */
  readonly knownAt: number;
  /** The newest timestamp that had been answered when everybody knew of it; undefined until then. */
  knownFrom: number | undefined;
}

/**
 * From which commit timestamp on a new observer must have its hints. Clients keep a copy of the registry for a time, and a
 * commit timestamp is taken before that copy is looked at, so that it is time that counts, not what the oracle's clock makes of it.
 */
export class RegistrationGrace {
  readonly #options: RegistrationGraceOptions;
  readonly #registrations = new Map<string, Registration>();
  readonly #running = new Set<Registration>();

  constructor(options: RegistrationGraceOptions) {
    this.#options = options;
  }

  /** What was registered before anybody looked is known to all. */
  adopt({ observers }: RegistryView): void {
    for (const { name, record } of observers.values())
      this.#registrations.set(name, { since: record.since, knownAt: 0, knownFrom: record.since });
  }

  /** Looks for observers that are new. */
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

  /** To be called before whatever happens counts. */
  passTime(): void {
    if (this.#running.size === 0) return;
    const now = this.#options.now();
    for (const registration of this.#running) {
      if (now < registration.knownAt) continue;
      registration.knownFrom = Math.max(registration.since, this.#options.newestTimestamp());
      this.#running.delete(registration);
    }
  }

  /** Changes committed after this must have a hint for it. */
  knownFrom({ name, record }: RegisteredObserver): number {
    const registration = this.#registrations.get(name);
    if (registration === undefined) return record.since;
    return registration.knownFrom ?? Number.POSITIVE_INFINITY;
  }
}
