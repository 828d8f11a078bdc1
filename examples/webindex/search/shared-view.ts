/** Searches that come together share one view of the index. */
import type { Snapshot } from "percolatordb";

/** A view, how many searches use it, and whether a newer one has replaced it. */
interface Shared<V> {
  readonly snapshot: Snapshot;
  readonly view: V;
  readonly at: number;
  /** At this age, in milliseconds, a newer view is read. */
  readonly renewAtMs: number;
  users: number;
  isReplaced: boolean;
}

/**
 * To read a view takes some milliseconds, and longer while many pages wait to be merged. A view
 * may be used for so many times the time that it took, so that reading views takes at most a
 * twentieth of the time.
 */
const ageFactor = 20;
const leastRenewMs = 20;
const mostRenewMs = 700;
/** A search waits for a newer view instead of using an older one. So every page is found after a second. */
const maxAgeMs = 900;

/** Opens views, and lets searches share them. */
export class SharedViews<V> {
  readonly #openSnapshot: () => Promise<Snapshot>;
  readonly #readView: (snapshot: Snapshot) => Promise<V>;
  readonly #now: () => number;
  #current: Shared<V> | undefined;
  #opening: Promise<Shared<V>> | undefined;
  /** Searches that wait for the view that is read. They become its users. */
  #waiting = 0;

  constructor(
    open: () => Promise<Snapshot>,
    read: (snapshot: Snapshot) => Promise<V>,
    now: () => number = () => performance.now(),
  ) {
    this.#openSnapshot = open;
    this.#readView = read;
    this.#now = now;
  }

  /**
   * Runs `use` with a view that is at most 900 ms old, or newly read. If the view is older than
   * it should be, a newer one is read meanwhile for the next searches.
   */
  async use<T>(use: (view: V) => Promise<T>): Promise<T> {
    const shared = await this.#reserve();
    try {
      return await use(shared.view);
    } finally {
      shared.users--;
      await this.#closeUnused(shared);
    }
  }

  /** Closes the current view once no search uses it. */
  async close(): Promise<void> {
    await this.#opening?.catch(() => undefined);
    const last = this.#current;
    this.#current = undefined;
    if (last !== undefined) await this.#replace(last);
  }

  /**
   * Chooses a view, and counts its user before anything else can run: between the choice and the
   * count, the view could be replaced and its snapshot closed.
   */
  #reserve(): Promise<Shared<V>> | Shared<V> {
    const current = this.#current;
    const age = current === undefined ? Infinity : this.#now() - current.at;
    if (current === undefined || age > maxAgeMs) {
      const opening = this.#renew();
      this.#waiting++;
      return opening;
    }
    current.users++;
    // The searches that wait for the newer view report its failure.
    if (age > current.renewAtMs) this.#renew().catch(() => undefined);
    return current;
  }

  #renew(): Promise<Shared<V>> {
    this.#opening ??= this.#openShared();
    return this.#opening;
  }

  async #openShared(): Promise<Shared<V>> {
    let shared: Shared<V>;
    try {
      const read = await this.#read();
      shared = { ...read, users: this.#waiting, isReplaced: false };
    } finally {
      this.#opening = undefined;
      this.#waiting = 0;
    }
    const before = this.#current;
    this.#current = shared;
    if (before !== undefined) await this.#replace(before);
    return shared;
  }

  async #read(): Promise<Pick<Shared<V>, "snapshot" | "view" | "at" | "renewAtMs">> {
    const at = this.#now();
    const snapshot = await this.#openSnapshot();
    try {
      const view = await this.#readView(snapshot);
      const took = this.#now() - at;
      return {
        snapshot,
        view,
        at,
        renewAtMs: Math.min(mostRenewMs, Math.max(leastRenewMs, took * ageFactor)),
      };
    } catch (error) {
      await snapshot.close();
      throw error;
    }
  }

  #replace(shared: Shared<V>): Promise<void> {
    shared.isReplaced = true;
    return this.#closeUnused(shared);
  }

  async #closeUnused({ users, isReplaced, snapshot }: Shared<V>): Promise<void> {
    if (isReplaced && users === 0) await snapshot.close();
  }
}
