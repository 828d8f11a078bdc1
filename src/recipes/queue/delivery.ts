import { unlessAborted } from "../waiting.js";

/** The entries of one key, in order. They are delivered together. */
interface Parcel<E> {
  readonly count: number;
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
 * only the faulty key fails.
 */
export class Delivery<E> {
  readonly #send: Send<E>;
  readonly #maxTogether: number;
  #waiting: Parcel<E>[] = [];
  #isSending = false;

  constructor(send: Send<E>, maxTogether: number) {
    this.#send = send;
    this.#maxTogether = maxTogether;
  }

  /**
   * Delivers `count` entries of one key, and resolves when they are delivered. `entries` returns
   * new copies at each call.
   */
  deliver(count: number, entries: () => readonly E[], signal: AbortSignal): Promise<void> {
    const delivered = new Promise<void>((resolve, reject) => {
      this.#waiting.push({ count, entries, signal, resolve, reject });
    });
    if (!this.#isSending) void this.#sendAll();
    return delivered;
  }

  async #sendAll(): Promise<void> {
    this.#isSending = true;
    while (this.#waiting.length > 0) await this.#sendTogether(this.#takeTogether());
    this.#isSending = false;
  }

  /** Takes the next parcels. Rejects those whose signal was aborted. */
  #takeTogether(): readonly Parcel<E>[] {
    const together: Parcel<E>[] = [];
    let count = 0;
    for (const parcel of this.#waiting) {
      if (together.length > 0 && count + parcel.count > this.#maxTogether) break;
      together.push(parcel);
      count += parcel.count;
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
