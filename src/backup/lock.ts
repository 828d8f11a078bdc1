import { type Environment, onAbort, sleep, type Timer } from "../environment/index.js";
import { BackupBusyError } from "../errors/index.js";
import { names } from "./manifest.js";
import type { BackupStorage } from "./storage.js";

/** Time between two heartbeats, in milliseconds. */
const beatMs = 5_000;
/**
 * A holder without a heartbeat for this long is dead, in milliseconds: longer than a slow storage
 * needs for one object, four heartbeats.
 */
const silentMs = 20_000;
/**
 * A holder whose last heartbeat is this old, in milliseconds, may lose the lock while it waits for the
 * storage: 5 s less than {@link silentMs}.
 */
const uncertainMs = 15_000;
/**
 * How long a release waits for the storage, in milliseconds. A lock that is not released is dead after
 * {@link silentMs}.
 */
const releaseMs = 5_000;
/** How often a check tries to renew the lock while the storage is too slow. */
const maxRenewals = 3;
const lookMs = 1_000;
const maxAttempts = 10;

/** The holders in this thread whose lock is not yet released. */
const holders = new Set<string>();

/** The lock as it is stored. */
interface Held {
  readonly holder: string;
  /** The name of the holder's process, as the environment gives it. */
  readonly process: string;
  readonly beat: number;
}

/**
 * Keeps two processes from writing backups into one place. A holder writes a heartbeat every 5 s. A
 * process takes over the lock of a holder that is known to have ended, or that has been silent for
 * 20 s. A holder asks {@link check} before it writes a manifest and before each deletion.
 */
export class Lock {
  readonly #storage: BackupStorage;
  readonly #environment: Environment;
  readonly #requests: AbortController | undefined;
  readonly #holder: string;
  /** Whether another process has taken over the lock. */
  isLost = false;
  #beat = 0;
  /** When the last heartbeat was sent that has reached the storage. */
  #beatAt = 0;
  #timer: Timer | undefined;
  #beating: Promise<void> = Promise.resolve();
  #ended = false;
  #ending: Timer | undefined;
  #stopListening = (): void => undefined;

  private constructor(storage: BackupStorage, environment: Environment, requests?: AbortController) {
    this.#storage = storage;
    this.#environment = environment;
    this.#requests = requests;
    this.#holder = environment.uniqueId();
  }

  /**
   * Takes the lock. Waits up to 20 s if its holder is silent. `requests` ends the requests of
   * `storage`. The lock aborts it 5 s after `signal`, or after the call of {@link release}, if the
   * storage does not answer.
   *
   * @throws BackupBusyError if another process holds the lock.
   */
  static async take(
    storage: BackupStorage,
    environment: Environment,
    signal?: AbortSignal,
    requests?: AbortController,
  ): Promise<Lock> {
    const lock = new Lock(storage, environment, requests);
    lock.#stopListening = onAbort(signal, () => lock.#endSoon());
    try {
      await lock.#take(signal);
    } catch (error) {
      // The storage may have the lock. As long as this process lives, no other one of the machine would take it.
      await lock.release().catch(() => undefined);
      throw error;
    }
    return lock;
  }

  async #take(signal: AbortSignal | undefined): Promise<void> {
    const storage = this.#storage;
    for (let attempt = 0; attempt < maxAttempts; attempt++) {
      this.#beatAt = this.#environment.monotonic();
      const isNew = await storage.create(names.lock, this.#bytes());
      if (!isNew) {
        const before = await storage.get(names.lock);
        if (before === undefined) continue;
        // A repeated request may have met the lock of this process itself.
        if (decode(before)?.holder !== this.#holder) {
          if (!(await this.#isDead(before, signal))) continue;
          this.#beatAt = this.#environment.monotonic();
          await this.#put(this.#beatAt);
        }
      }
      await this.check();
      holders.add(this.#holder);
      this.#schedule();
      return;
    }
    throw this.#busy();
  }

  /**
   * @throws BackupBusyError if another process has taken over the lock, or may do so because the
   * storage is too slow for heartbeats.
   */
  async check(): Promise<void> {
    await this.#look();
    // This process was paused, or the storage was away. Another process may be about to take the lock.
    for (let renewals = 0; this.#isUncertain(this.#beatAt); renewals++) {
      if (renewals === maxRenewals) throw this.#tooSlow();
      await this.#write();
      await this.#look();
    }
  }

  async #look(): Promise<void> {
    const held = decode(await this.#storage.get(names.lock));
    if (held?.holder === this.#holder) return;
    this.isLost = true;
    throw this.#busy(held?.process);
  }

  async release(): Promise<void> {
    this.#ended = true;
    holders.delete(this.#holder);
    this.#timer?.cancel();
    this.#stopListening();
    this.#endSoon();
    try {
      await this.#beating;
      const held = decode(await this.#storage.get(names.lock));
      if (held?.holder === this.#holder) await this.#storage.delete(names.lock);
    } catch (error) {
      if (this.#requests?.signal.aborted !== true) throw error;
    } finally {
      this.#ending?.cancel();
    }
  }

  #endSoon(): void {
    this.#ending ??= this.#environment.setTimer(() => this.#requests?.abort(), releaseMs, {
      background: true,
    });
  }

  /** Whether so much time has passed since `at` that another process may have taken the lock since. */
  #isUncertain(at: number): boolean {
    return this.#environment.monotonic() - at >= uncertainMs;
  }

  /** False if the lock has been released. Throws if its holder lives. */
  async #isDead(before: Buffer, signal: AbortSignal | undefined): Promise<boolean> {
    const held = decode(before);
    if (held !== undefined && holders.has(held.holder)) throw this.#busy(held.process);
    // A holder of this process may be in another thread, or could not delete its lock when it released it.
    const isUnsure = held === undefined || held.process === this.#environment.processName;
    const runs = isUnsure ? undefined : this.#environment.isRunning(held.process);
    if (runs === true) throw this.#busy(held?.process);
    if (runs === false) return true;
    for (let waitedMs = 0; waitedMs < silentMs; waitedMs += lookMs) {
      await sleep(this.#environment, lookMs, signal, "Waiting for the lock of the backups");
      const now = await this.#storage.get(names.lock);
      if (now === undefined) return false;
      if (!now.equals(before)) throw this.#busy(held?.process);
    }
    return true;
  }

  #bytes(): Buffer {
    const held: Held = {
      holder: this.#holder,
      process: this.#environment.processName,
      beat: this.#beat,
    };
    return Buffer.from(`${JSON.stringify(held)}\n`);
  }

  #schedule(): void {
    const beat = () => {
      // If a heartbeat fails, the next check fails too, or another process takes the lock.
      this.#beating = this.#write()
        .catch(() => undefined)
        .then(() => {
          if (!this.#ended) this.#schedule();
        });
    };
    this.#timer = this.#environment.setTimer(beat, beatMs, { background: true });
  }

  async #write(): Promise<void> {
    const startedAt = this.#environment.monotonic();
    await this.#look();
    // A heartbeat must not overwrite the lock of a process that has taken it since the look.
    if (this.#isUncertain(startedAt)) return;
    this.#beat++;
    if (await this.#put(startedAt)) this.#beatAt = startedAt;
  }

  /**
   * Writes the lock. A storage may send a request again for a long time, so this ends it before another
   * process may take the lock. Resolves to whether the lock was written.
   */
  async #put(startedAt: number): Promise<boolean> {
    const late = new AbortController();
    const leftMs = startedAt + uncertainMs - this.#environment.monotonic();
    const timer = this.#environment.setTimer(() => late.abort(), leftMs, { background: true });
    try {
      await this.#storage.put(names.lock, this.#bytes(), late.signal);
      return true;
    } catch (error) {
      if (late.signal.aborted) return false;
      throw error;
    } finally {
      timer.cancel();
    }
  }

  #tooSlow(): BackupBusyError {
    return new BackupBusyError(
      `Another process may take over the backups in ${this.#storage.description}, because heartbeats need more than ` +
        `${uncertainMs / 1_000} s to get there. Check the network and the storage, and try again.`,
    );
  }

  #busy(process?: string): BackupBusyError {
    return new BackupBusyError(
      `Another process writes backups to ${this.#storage.description}${process === undefined ? "" : `: ${process}`}. ` +
        `Let only one process write there, or name another place. If no such process exists, delete ${names.lock} there.`,
    );
  }
}

function decode(bytes: Buffer | undefined): Held | undefined {
  if (bytes === undefined) return undefined;
  try {
    const { holder, process, beat } = JSON.parse(bytes.toString("utf8")) as Record<string, unknown>;
    if (typeof holder === "string" && typeof process === "string" && typeof beat === "number") {
      return { holder, process, beat };
    }
  } catch {
    // A damaged lock has no holder.
  }
  return undefined;
}
