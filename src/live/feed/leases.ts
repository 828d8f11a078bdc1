import { SingleFlight, type Timer, unlessAborted } from "../../environment/index.js";
import type { FeedRecord, Registry } from "../../observer/index.js";
import type { TransactionContext } from "../../transaction/index.js";
import { raiseMark, readMark } from "./feed-marks.js";

/**
 * What a leased feed follows. Programs do not declare such feeds: live queries and other readers
 * need them only while they run, so a feed lasts as long as somebody renews its lease. Its entries
 * have no values. The space keeps its name apart from those of declared feeds.
 */
export type LeasedFollow = { readonly table: string } | { readonly observed: true };

export function leasedFeedName(follow: LeasedFollow): string {
  return "table" in follow ? `live ${follow.table}` : "live observed";
}

/**
 * How long a lease lasts, in milliseconds. Transactions leave entries for about that long after the
 * last reader has gone, and a reader that has lost its feed begins again.
 */
const leaseMs = 120_000;
const renewMs = leaseMs / 3;
/** A leased feed keeps entries this long. Its readers are never much behind. */
const retentionMs = 300_000;

/** A feed that readers of this process hold. All of them share its record and its lease. */
interface Held {
  readonly follow: LeasedFollow;
  readonly declaring: SingleFlight<void>;
  isDeclared: boolean;
  count: number;
}

/** The leased feeds that this process follows. It renews their leases while they are held. */
export class FeedLeases {
  readonly #registry: Registry;
  readonly #held = new Map<string, Held>();
  readonly #closing = new AbortController();
  #timer: Timer | undefined;

  constructor(registry: Registry) {
    this.#registry = registry;
  }

  /**
   * Records a leased feed unless it is recorded, and keeps it from being removed until the returned
   * function is called.
   */
  async hold(follow: LeasedFollow, signal?: AbortSignal): Promise<() => void> {
    const name = leasedFeedName(follow);
    const held = this.#held.get(name) ?? {
      follow,
      declaring: new SingleFlight<void>(),
      isDeclared: false,
      count: 0,
    };
    held.count++;
    this.#held.set(name, held);
    let isReleased = false;
    const release = () => {
      if (isReleased) return;
      isReleased = true;
      if (--held.count === 0) this.#held.delete(name);
    };
    try {
      if (!held.isDeclared || !(await this.#registry.fresh()).feedRecords.has(name)) {
        const declared = held.declaring.run(() => this.#declare(name, follow));
        await unlessAborted(declared, signal, `Following ${name}`);
        held.isDeclared = true;
      }
    } catch (error) {
      release();
      throw error;
    }
    this.#renewLater();
    return release;
  }

  /** Stops renewing. The leases then end by themselves. */
  close(): void {
    this.#closing.abort();
    this.#held.clear();
    this.#timer?.cancel();
  }

  async #declare(name: string, follow: LeasedFollow): Promise<void> {
    const { store, environment } = this.#registry.context;
    // The lease comes first, so that nobody removes the feed as soon as it is recorded.
    await raiseMark(store, name, "lease", Math.ceil((environment.now() + leaseMs) * 1_000));
    const stored = "table" in follow ? { columns: [], tables: [follow.table] } : { columns: [], ...follow };
    await this.#registry.recordLeasedFeed(name, stored, { retentionMs }, this.#closing.signal);
  }

  #renewLater(): void {
    const { environment, events } = this.#registry.context;
    if (this.#timer !== undefined || this.#held.size === 0) return;
    const renew = async () => {
      try {
        for (const [name, { follow }] of this.#held) await this.#declare(name, follow);
      } catch (error) {
        // A lease that ends costs its readers a new beginning, but no change.
        events.emit("backgroundFailure", { doing: "renewing the lease of a feed", error });
      } finally {
        this.#timer = undefined;
        this.#renewLater();
      }
    };
    this.#timer = environment.setTimer(() => void renew(), renewMs, { background: true });
  }
}

/** Whether a feed is leased, and its lease has ended. */
export async function isLeaseOver(
  { store, environment }: TransactionContext,
  { name, isLeased }: FeedRecord,
): Promise<boolean> {
  return isLeased && (await readMark(store, name, "lease")) < environment.now() * 1_000;
}
