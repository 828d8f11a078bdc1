import type { Environment, Timer } from "../../environment/index.js";
import { ObserverError } from "../../errors/index.js";
import type { Observer } from "../observer.js";
import { outdatedText } from "../registry/registered.js";
import type { Registry } from "../registry/registry.js";
import type { RegistryView } from "../registry/view.js";

/** Finds the hints of one observer for one worker (protocol §5.9). */
export interface HintScanner {
  readonly observer: Observer;
  /** Whether there was more to find than the queue could take. */
  readonly isUnfinished: boolean;
  /**
   * Looks for hints until there are no more or the queue is full. Answers how many it found to do.
   */
  scan(): Promise<number>;
}

const firstPollMs = 50;
const maxPollMs = 250;
const maxPauseMs = 1_000;
/** Where any process finds any hint, so many together look as often as one alone would. */
const sessionsOfOnePoll = 8;
const maxCrowdedPollMs = 10_000;
/** Pauses last so many times as long as the scan before them. */
const restForWork = 4;

/**
 * Scans for a worker, one observer after the other: at once when woken, and every now and then, so
 * that hints of other processes, and such as did not fit in the queue, are found.
 */
export class ScanLoop {
  readonly #registry: Registry;
  readonly #environment: Environment;
  readonly #scanners: readonly HintScanner[];
  readonly #sessions: () => number;
  readonly #outdated = new Set<string>();
  #pollMs = firstPollMs;
  #timer: Timer | undefined;
  #running: Promise<void> | undefined;
  #wokenMeanwhile = false;
  #wantedMeanwhile = false;
  /** Until when it rests after the last scan, by the monotonic clock. */
  #restsUntil = Number.NEGATIVE_INFINITY;
  #stopped = false;

  /** `sessions`: how many processes share the work in such a way that each may find all of it. */
  constructor(
    registry: Registry,
    environment: Environment,
    scanners: readonly HintScanner[],
    sessions: () => number,
  ) {
    this.#registry = registry;
    this.#environment = environment;
    this.#scanners = scanners;
    this.#sessions = sessions;
  }

  /** Scans now, or once more after the scan under way. */
  wake(): void {
    if (this.#stopped) return;
    if (this.#running !== undefined) {
      this.#wokenMeanwhile = true;
      return;
    }
    this.#timer?.cancel();
    this.#running = this.#scan().finally(() => {
      this.#running = undefined;
      this.#schedule();
    });
  }

  /** Scans as soon as it has rested after the last scan: for what may happen all the time. */
  wakeSoon(): void {
    if (this.#running !== undefined) this.#wantedMeanwhile = true;
    else if (!this.#stopped) this.#wakeAfterRest();
  }

  #wakeAfterRest(): void {
    const restMs = this.#restsUntil - this.#environment.monotonic();
    if (restMs <= 0) this.wake();
    else this.#wakeIn(restMs);
  }

  #wakeIn(ms: number): void {
    this.#timer?.cancel();
    // Not a background timer: a process in which a worker stands goes on until it is stopped.
    this.#timer = this.#environment.setTimer(() => this.wake(), ms);
  }

  /** Resolves when the scan that is under way, if there is one, has ended. */
  async ended(): Promise<void> {
    await this.#running;
  }

  /** Resolves when a scan that begins after the call has ended. */
  async scanned(): Promise<void> {
    await this.#running;
    this.wake();
    await this.#running;
  }

  /** Whether there was more to find of an observer than its queue could take. */
  isUnfinished(observer: string): boolean {
    return this.#scanners.some((scanner) => scanner.observer.name === observer && scanner.isUnfinished);
  }

  async #scan(): Promise<void> {
    const startedAt = this.#environment.monotonic();
    let found = 0;
    try {
      // Whoever was unregistered, or registered anew, is noticed here at the latest.
      const view = await this.#registry.fresh();
      for (const scanner of this.#scanners) {
        if (this.#stopped) return;
        if (this.#isCurrent(view, scanner.observer)) found += await scanner.scan();
      }
    } catch (error) {
      if (this.#stopped) return;
      const { events } = this.#registry.context;
      events.emit("backgroundFailure", { doing: "looking for observers that are due", error });
    }
    const crowd = Math.max(1, this.#sessions() / sessionsOfOnePoll);
    const maxMs = Math.min(maxCrowdedPollMs, maxPollMs * crowd);
    const pollMs = found > 0 ? firstPollMs : Math.min(maxMs, this.#pollMs * 2);
    // Where very many hints wait for their time, looking at them must not take all of it.
    const endedAt = this.#environment.monotonic();
    const pauseMs = Math.min(maxPauseMs, restForWork * (endedAt - startedAt));
    this.#restsUntil = endedAt + pauseMs;
    this.#pollMs = Math.max(pollMs, pauseMs);
  }

  /**
   * A program that is older than the registry leaves an observer to the newer ones, and says so
   * once.
   */
  #isCurrent(view: RegistryView, { name, version }: Observer): boolean {
    const registered = view.observers.get(name)?.record.version;
    if (registered === version) {
      this.#outdated.delete(name);
      return true;
    }
    if (!this.#outdated.has(name)) {
      this.#outdated.add(name);
      const error = new ObserverError(outdatedText(name, version, registered));
      this.#registry.context.events.emit("backgroundFailure", { doing: `working for "${name}"`, error });
    }
    return false;
  }

  #schedule(): void {
    if (this.#stopped) return;
    const [isWoken, isWanted] = [this.#wokenMeanwhile, this.#wantedMeanwhile];
    this.#wokenMeanwhile = false;
    this.#wantedMeanwhile = false;
    if (isWoken) this.wake();
    else if (isWanted) this.#wakeAfterRest();
    else this.#wakeIn(this.#pollMs);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#timer?.cancel();
    await this.#running;
  }
}
