/** When a session's heartbeat was last seen to change. */
interface Heartbeat {
  stamp: unknown;
  /** Monotonic time at which this process first saw the stamp, in milliseconds. */
  since: number;
  hasChanged: boolean;
  /** How much later the sender's clock was than this process's, at the newest changes seen. */
  readonly aheadMs: number[];
}

/** How many heartbeats tell about a clock, and how many are needed at least. */
const maxAhead = 16;
const minAhead = 3;

/**
 * Measures how long each session's heartbeat has been missing, by this process's own monotonic
 * clock. Wall clocks are of no use here: those of two machines may differ by more than the time
 * between two heartbeats.
 */
export class Heartbeats {
  readonly #seen = new Map<string, Heartbeat>();

  /**
   * Records a heartbeat that was read at monotonic time `now`. `aheadMs` is by how much the time at
   * which it was sent is later than that at which it was read, each by its own process's wall clock.
   */
  see(name: string, stamp: unknown, now: number, aheadMs = 0): void {
    const seen = this.#seen.get(name);
    if (seen === undefined) {
      this.#seen.set(name, { stamp, since: now, hasChanged: false, aheadMs: [] });
      return;
    }
    if (seen.stamp === stamp) return;
    Object.assign(seen, { stamp, since: now, hasChanged: true });
    seen.aheadMs.push(aheadMs);
    if (seen.aheadMs.length > maxAhead) seen.aheadMs.shift();
  }

  /**
   * By how much the clock of a session's process is ahead of this process's. Undefined if too few
   * heartbeats were seen. A heartbeat is read some time after it was sent, so the one that was read
   * soonest tells most. The result is too small by that time: up to a second.
   */
  clockOffsetMs(name: string): number | undefined {
    const ahead = this.#seen.get(name)?.aheadMs ?? [];
    return ahead.length < minAhead ? undefined : Math.max(...ahead);
  }

  /**
   * This process was paused for `lostMs`, so it could not have seen heartbeats during that time.
   */
  passOver(lostMs: number, now: number): void {
    for (const heartbeat of this.#seen.values()) heartbeat.since = Math.min(now, heartbeat.since + lostMs);
  }

  /**
   * For how long the heartbeat had not changed at `now`, in milliseconds. 0 if it was never seen.
   */
  unchangedMs(name: string, now: number): number {
    const seen = this.#seen.get(name);
    return seen === undefined ? 0 : Math.max(0, now - seen.since);
  }

  /** Whether this process ever saw the heartbeat change. */
  hasChanged(name: string): boolean {
    return this.#seen.get(name)?.hasChanged ?? false;
  }

  /** Forgets all sessions except `names`. */
  keep(names: { has(name: string): boolean }): void {
    for (const name of this.#seen.keys()) if (!names.has(name)) this.#seen.delete(name);
  }
}
