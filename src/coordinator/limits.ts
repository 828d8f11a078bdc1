/**
 * Version of the protocol between clients and coordinators. Both sides must have the same version.
 */
export const protocolVersion = 1;

/** Limits of a coordinator: each is the largest number that it accepts. */
export const coordinatorLimits = Object.freeze({
  /** Timestamps of one request. */
  timestamps: 100_000,
  /** Sessions at a time. */
  sessions: 10_000,
  /** Characters of a session's name. */
  sessionName: 200,
  /** Characters of the name of a service whose health is asked for. */
  serviceName: 200,
  /** Ended sessions that a coordinator remembers. */
  endedSessions: 100_000,
  /** Claims of one session at a time. */
  claimsOfSession: 10_000,
  /** Claims of all sessions at a time. */
  claims: 1_000_000,
  /** Bytes of the claims of all sessions. */
  allClaimBytes: 256 * 2 ** 20,
  /** Bytes of one claim. */
  claimBytes: 4_096,
  /** Steps of one message. */
  steps: 1_000,
  /** Sessions in one question about liveness. */
  asked: 1_000,
  /** Bytes of a message to a coordinator. */
  requestBytes: 8 * 2 ** 20,
  /** Bytes of a message to a client. */
  replyBytes: 8 * 2 ** 20,
  /**
   * Timestamp streams and session streams at a time, together. Health watchers have the same limit,
   * and count separately.
   */
  streams: 30_000,
});

/**
 * gRPC's keepalive pings on a connection: their interval, and how long the other side may take to
 * answer, in milliseconds.
 */
export const keepalive = Object.freeze({ everyMs: 2_000, withinMs: 2_500 });

/**
 * If a coordinator was paused for this long, in milliseconds, it forgets all sessions. Its
 * membership table may be wrong, because clients may have stopped waiting for the acknowledgment of
 * their reports during the pause.
 */
export const maxStallMs = 2_000;
