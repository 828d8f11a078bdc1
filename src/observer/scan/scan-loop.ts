import { type Environment, SingleFlight, type Timer } from "../../environment/index.js";
import { ObserverError } from "../../errors/index.js";
import type { RowStore } from "../../store/index.js";
import type { Observer } from "../observer.js";
import type { TaskBoard } from "../queue/task-board.js";
import { isCurrent, outdatedText } from "../registry/registered.js";
import type { Registry } from "../registry/registry.js";
import type { RegistryView } from "../registry/view.js";

/** Finds the hints of one observer for one worker (protocol §5.9). */
export interface HintScanner {
  readonly observer: Observer;
  /** Whether there were more hints than the queue could take. */
  readonly isUnfinished: boolean;
  /**
   * Looks for hints until there are no more or the queue is full. Returns how many hints the board
   * has taken on.
   */
  scan(): Promise<number>;
}

/** The options that both kinds of scanners take: those with and those without a cluster service. */
export interface HintScannerOptions {
  readonly store: RowStore;
  readonly environment: Environment;
  readonly board: TaskBoard;
  readonly observer: Observer;
  /**
   * The worker that this scanner belongs to. The scanner jumps if it meets tasks of another worker.
   */
  readonly owner: unknown;
  readonly signal: AbortSignal;
}

const firstPollMs = 50;
const maxPollMs = 250;
const maxPauseMs = 1_000;
/**
 * In a cluster, any process may find any hint. Up to this number of processes, each one polls at
 * least every `maxPollMs`. With more processes, each one polls less often, so that the total rate
 * of polls does not grow.
 */
const sessionsOfOnePoll = 8;
const maxCrowdedPollMs = 10_000;
/** A pause lasts this many times as long as the scan before it. */
const restForWork = 4;
/**
 * How much of these pauses a loop may leave out after it has rested: that of a scan of some
 * milliseconds, so that a commit just after a regular scan is found as fast as any other.
 */
const spareRestMs = 50;

/**
 * Scans for a worker, one observer after another. It scans at once when it is woken, and regularly
 * in between. The regular scans find hints of other processes, and hints that did not fit into the
 * queue.
 */
export class ScanLoop {
  readonly #registry: Registry;
  readonly #environment: Environment;
  readonly #scanners: readonly HintScanner[];
  readonly #sessions: () => number;
  readonly #outdated = new Set<string>();
  #pollMs = firstPollMs;
  #timer: Timer | undefined;
  readonly #scans = new SingleFlight<void>();
  #wokenMeanwhile = false;
  #wantedMeanwhile = false;
  /**
   * The end of its pause after the last scan. Monotonic time. If it is in the past, the time since
   * then shortens the next pause.
   */
  #restsUntil = Number.NEGATIVE_INFINITY;
  #stopped = false;

  /**
   * `sessions`: returns how many processes may find the same hints. It is 1 if each process has its
   * own buckets.
   */
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

  /** Scans now. If a scan is running, scans once more after it. */
  wake(): void {
    if (this.#stopped) return;
    if (this.#scans.isRunning) {
      this.#wokenMeanwhile = true;
      return;
    }
    this.#timer?.cancel();
    void this.#scans.run(() => this.#scan()).then(() => this.#schedule());
  }

  /**
   * Scans as soon as the pause after the last scan is over. It is for events that may happen very
   * often.
   */
  wakeSoon(): void {
    if (this.#scans.isRunning) this.#wantedMeanwhile = true;
    else if (!this.#stopped) this.#wakeAfterRest();
  }

  #wakeAfterRest(): void {
    const restMs = this.#restsUntil - this.#environment.monotonic();
    if (restMs <= 0) this.wake();
    else this.#wakeIn(restMs);
  }

  #wakeIn(ms: number): void {
    this.#timer?.cancel();
    // Not a background timer: a process with a worker lives until the worker is stopped.
    this.#timer = this.#environment.setTimer(() => this.wake(), ms);
  }

  /** Resolves when the running scan has ended, or at once if none runs. */
  async ended(): Promise<void> {
    await this.#scans.ended();
  }

  /** Resolves when a scan that begins after the call has ended. */
  async scanned(): Promise<void> {
    await this.#scans.ended();
    this.wake();
    await this.#scans.ended();
  }

  /** Whether there were more hints of an observer than its queue could take. */
  isUnfinished(observer: string): boolean {
    return this.#scanners.some((scanner) => scanner.observer.name === observer && scanner.isUnfinished);
  }

  async #scan(): Promise<void> {
    const startedAt = this.#environment.monotonic();
    let found = 0;
    try {
      // Detects observers that were unregistered or re-registered since the last scan.
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
    // If very many hints wait for their time, a scan takes long. The pause after it keeps scans
    // from taking all of the event loop's time.
    const endedAt = this.#environment.monotonic();
    const pauseMs = Math.min(maxPauseMs, restForWork * (endedAt - startedAt));
    const restedUntil = this.#restsUntil + endedAt - startedAt;
    this.#restsUntil = Math.min(endedAt, Math.max(endedAt - spareRestMs, restedUntil)) + pauseMs;
    this.#pollMs = Math.max(pollMs, pauseMs);
  }

  /**
   * Whether the program's observer is the registered one. If it is not, this worker leaves the observer
   * to other programs, and reports that once.
   */
  #isCurrent(view: RegistryView, observer: Observer): boolean {
    const { name } = observer;
    const registered = view.observers.get(name);
    if (isCurrent(registered, observer)) {
      this.#outdated.delete(name);
      return true;
    }
    if (!this.#outdated.has(name)) {
      this.#outdated.add(name);
      const error = new ObserverError(outdatedText(observer, registered));
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
    await this.#scans.ended();
  }
}
