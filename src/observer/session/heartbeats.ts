/** When what somebody writes again and again was last seen to change. */
interface Heartbeat {
  stamp: unknown;
  /** Monotonic time at which this stamp was first seen. */
  since: number;
  hasChanged: boolean;
}

/**
 * How long signs of life have been missing, by this process's own monotonic clock: the wall clocks
 * of two machines may differ by more than a sign of life lasts.
 */
export class Heartbeats {
  readonly #seen = new Map<string, Heartbeat>();

  /** Notes what was read of somebody at a monotonic time. */
  see(name: string, stamp: unknown, now: number): void {
    const seen = this.#seen.get(name);
    if (seen === undefined) this.#seen.set(name, { stamp, since: now, hasChanged: false });
    else if (seen.stamp !== stamp) Object.assign(seen, { stamp, since: now, hasChanged: true });
  }

  /** Who looks has stood still for so long: nobody could be seen then. */
  passOver(lostMs: number, now: number): void {
    for (const heartbeat of this.#seen.values()) heartbeat.since = Math.min(now, heartbeat.since + lostMs);
  }

  /** For how long it had stood unchanged at `now`; 0 for what was never seen. */
  unchangedMs(name: string, now: number): number {
    const seen = this.#seen.get(name);
    return seen === undefined ? 0 : Math.max(0, now - seen.since);
  }

  /** Whether it was ever seen to change. */
  hasChanged(name: string): boolean {
    return this.#seen.get(name)?.hasChanged ?? false;
  }

  /** Forgets all others. */
  keep(names: { has(name: string): boolean }): void {
    for (const name of this.#seen.keys()) if (!names.has(name)) this.#seen.delete(name);
  }
}
