/** Version of the protocol between clients and coordinators. Both must have the same. */
export const protocolVersion = 1;

/** Limits of a coordinator. */
export const coordinatorLimits = Object.freeze({
  /** Timestamps of one request. */
  timestamps: 100_000,
  /** Sessions at a time. */
  sessions: 10_000,
  /** Characters of a session's name. */
  sessionName: 200,
  /** Ended sessions that a coordinator remembers. */
  endedSessions: 100_000,
  /** Claims of one session at a time. */
  claimsOfSession: 10_000,
  /** Claims of all sessions at a time. */
  claims: 1_000_000,
  /** Bytes of the claims of all sessions. */
  allClaimBytes: 256 * 2 ** 20,
  /** Bytes of a claim. */
  claimBytes: 4_096,
  /** Steps of one message. */
  steps: 1_000,
  /** Sessions in one question about liveness. */
  asked: 1_000,
  /** Bytes of a message to a coordinator. */
  requestBytes: 8 * 2 ** 20,
  /** Bytes of a message to a client. */
  replyBytes: 8 * 2 ** 20,
  /** Streams of timestamps and sessions together at a time; also watchers of health at a time. */
  streams: 30_000,
});

/**
 * Heartbeats of a connection: their interval, and how long the other side may take to answer, in
 * milliseconds.
 */
export const keepalive = Object.freeze({ everyMs: 2_000, withinMs: 2_500 });

/**
 * After a pause of this length, in milliseconds, a coordinator forgets everything: its clients no
 * longer wait for the acknowledgment of what they reported last.
 */
export const maxStallMs = 2_000;
