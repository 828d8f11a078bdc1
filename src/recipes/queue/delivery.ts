import type { Environment } from "../../index.js";
import { sleepOrEnd, unlessAborted } from "../waiting.js";

/** The longest wait for the keys of the call before. Longer than a commit, and short beside a slow call. */
const maxGatherMs = 50;
/** The part of a call's duration that the wait takes at most. */
const gatherPart = 0.1;

/** The bytes of values from which a call takes no further entries. */
export const enoughBytes = 8 * 1024 * 1024;

interface ParcelSize {
  readonly count: number;
  /** Of the values. */
  readonly bytes: number;
  /** Whether they share their call with no other key. */
  readonly isAlone?: boolean;
}

/** The entries of one key, in order. They are delivered together. */
interface Parcel<E> extends ParcelSize {
  /**
   * Returns new copies at each call, because the entries may be sent again and the receiver may
   * change them.
   */
  readonly entries: () => readonly E[];
  readonly signal: AbortSignal;
  readonly resolve: () => void;
  readonly reject: (reason: unknown) => void;
}

/** Sends entries to the outside system. Resolves when they are safe there. */
export type Send<E> = (
  entries: readonly E[],
  options: { readonly signal: AbortSignal },
) => Promise<void> | void;

/**
 * Runs the deliveries of one process, one at a time. Entries that arrive during a delivery are sent
 * together afterwards. If a delivery of several keys fails, each key is sent again alone, so that
 * only the faulty key fails. If it takes too long, the runs of all these keys end with it: the caller
 * then says that each is sent alone.
 */
export class Delivery<E> {
  readonly #send: Send<E>;
  readonly #maxTogether: number;
  readonly #environment: Environment;
  #waiting: Parcel<E>[] = [];
  #isSending = false;
  /** The keys in the last call, and how long it took. */
  #last = { keys: 0, ms: 0 };

  constructor(send: Send<E>, maxTogether: number, environment: Environment) {
    this.#send = send;
    this.#maxTogether = maxTogether;
    this.#environment = environment;
  }

  /**
   * Delivers entries of one key, and resolves when they are delivered. `entries` returns new copies
   * at each call.
   */
  deliver(size: ParcelSize, entries: () => readonly E[], signal: AbortSignal): Promise<void> {
    const delivered = new Promise<void>((resolve, reject) => {
      this.#waiting.push({ ...size, entries, signal, resolve, reject });
    });
    if (!this.#isSending) void this.#sendAll();
    return delivered;
  }

  async #sendAll(): Promise<void> {
    this.#isSending = true;
    while (this.#waiting.length > 0) {
      const waitMs = this.#gatherMs;
      if (waitMs >= 1) await sleepOrEnd(this.#environment, waitMs, undefined);
      const parcels = this.#takeTogether();
      const begunAt = this.#environment.monotonic();
      await this.#sendTogether(parcels);
      this.#last = { keys: parcels.length, ms: this.#environment.monotonic() - begunAt };
    }
    this.#isSending = false;
  }

  /**
   * How long to wait for the keys of the call before. Their runs commit now, and those that have more
   * entries come back. Without the wait, the first of them would be sent alone, and all others wait.
   */
  get #gatherMs(): number {
    const { keys, ms } = this.#last;
    return this.#waiting.length >= keys ? 0 : Math.min(ms * gatherPart, maxGatherMs);
  }

  /** Takes the next parcels. Rejects those whose signal was aborted. */
  #takeTogether(): readonly Parcel<E>[] {
    const together: Parcel<E>[] = [];
    let count = 0;
    let bytes = 0;
    for (const parcel of this.#waiting) {
      count += parcel.count;
      bytes += parcel.bytes;
      const isFull = count > this.#maxTogether || bytes > enoughBytes;
      if (together.length > 0 && (isFull || parcel.isAlone)) break;
      together.push(parcel);
      if (parcel.isAlone) break;
    }
    this.#waiting = this.#waiting.slice(together.length);
    return together.filter(({ signal, reject }) => {
      if (signal.aborted) reject(signal.reason);
      return !signal.aborted;
    });
  }

  async #sendTogether(parcels: readonly Parcel<E>[]): Promise<void> {
    if (parcels.length === 0) return;
    const [first] = parcels;
    try {
      await this.#sendAs(parcels);
      for (const { resolve } of parcels) resolve();
    } catch (error) {
      if (parcels.length === 1) first!.reject(error);
      else for (const parcel of parcels) await this.#sendTogether([parcel]);
    }
  }

  /** Sends all entries. Aborts the delivery when the signals of all parcels are aborted. */
  async #sendAs(parcels: readonly Parcel<E>[]): Promise<void> {
    const controller = new AbortController();
    let wanted = parcels.length;
    const giveUp = () => {
      if (--wanted === 0) controller.abort(parcels[0]!.signal.reason);
    };
    for (const { signal } of parcels) {
      if (signal.aborted) giveUp();
      else signal.addEventListener("abort", giveUp, { once: true });
    }
    try {
      const { signal } = controller;
      signal.throwIfAborted();
      await unlessAborted(this.#call(parcels, signal), signal);
    } finally {
      for (const { signal } of parcels) signal.removeEventListener("abort", giveUp);
    }
  }

  /**
   * Calls the program's function. If the function throws before it returns a promise, this method
   * rejects, because it is async.
   */
  async #call(parcels: readonly Parcel<E>[], signal: AbortSignal): Promise<void> {
    await this.#send(
      parcels.flatMap(({ entries }) => entries()),
      { signal },
    );
  }
}
