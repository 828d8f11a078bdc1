/** When a session's heartbeat was last seen to change. */
interface Heartbeat {
  stamp: unknown;
  /** Monotonic time at which this process first saw the stamp, in milliseconds. */
  since: number;
  hasChanged: boolean;
}

/**
 * Measures how long each session's heartbeat has been missing, by this process's own monotonic
 * clock. Wall clocks are of no use here: those of two machines may differ by more than the time
 * between two heartbeats.
 */
export class Heartbeats {
  readonly #seen = new Map<string, Heartbeat>();

  /** Records a heartbeat that was read at monotonic time `now`. */
  see(name: string, stamp: unknown, now: number): void {
    const seen = this.#seen.get(name);
    if (seen === undefined) this.#seen.set(name, { stamp, since: now, hasChanged: false });
    else if (seen.stamp !== stamp) Object.assign(seen, { stamp, since: now, hasChanged: true });
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
