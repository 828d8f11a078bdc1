import type { Environment } from "../../environment/index.js";
import type { Heartbeats } from "./heartbeats.js";
import type { SessionRecord } from "./session-records.js";

/**
 * A session whose record did not change for this long is shown as silent, in milliseconds. Longer
 * than a missed heartbeat and a late reading together.
 */
const silentMs = 3_500;
/** How long and how many silent sessions are remembered after their records are gone. */
const rememberedMs = 3_600_000;
const maxRemembered = 64;

/** A session whose heartbeats ended, although its process has not ended it. */
export interface SilentSession extends Pick<SessionRecord, "process" | "observers"> {
  /** Wall time of this process at which it last saw a new heartbeat, in milliseconds. */
  readonly lastHeartbeatAt: number;
  /** Whether the process still exists. Undefined if this process cannot know. */
  readonly exists: boolean | undefined;
}

type Records = ReadonlyMap<string, SessionRecord>;

/**
 * The sessions that stopped sending heartbeats: those that still have a record, and those whose
 * record another process has removed.
 */
export class SilentSessions {
  readonly #environment: Environment;
  readonly #heartbeats: Heartbeats;
  /** Sessions without a record, the newest last. */
  readonly #gone = new Map<string, SilentSession>();

  constructor(environment: Environment, heartbeats: Heartbeats) {
    this.#environment = environment;
    this.#heartbeats = heartbeats;
  }

  /**
   * Compares two readings of the records. A session that ends in order removes its record soon after
   * its last heartbeat, so a record that was gone later than that was removed by another process.
   */
  rememberGone(before: Records, now: Records): void {
    for (const session of now.keys()) this.#gone.delete(session);
    for (const [session, record] of before) {
      if (now.has(session)) continue;
      const unchangedMs = this.#heartbeats.unchangedMs(session, this.#environment.monotonic());
      if (unchangedMs < silentMs) continue;
      this.#gone.set(session, this.#silent(record, unchangedMs));
      if (this.#gone.size > maxRemembered) this.#gone.delete(this.#gone.keys().next().value!);
    }
  }

  /** All silent sessions, for records that were read at monotonic time `readAt`. */
  list(
    records: Records,
    readAt: number,
    isAlive: (session: string, record: SessionRecord) => boolean,
  ): ReadonlyMap<string, SilentSession> {
    const oldest = this.#environment.now() - rememberedMs;
    const silent = new Map([...this.#gone].filter(([, { lastHeartbeatAt }]) => lastHeartbeatAt > oldest));
    for (const [session, record] of records) {
      const unchangedMs = this.#heartbeats.unchangedMs(session, readAt);
      if (unchangedMs >= silentMs || !isAlive(session, record))
        silent.set(session, this.#silent(record, unchangedMs));
    }
    return silent;
  }

  #silent({ process, observers }: SessionRecord, unchangedMs: number): SilentSession {
    const exists = this.#environment.isRunning(process);
    return { process, observers, exists, lastHeartbeatAt: this.#environment.now() - unchangedMs };
  }
}
