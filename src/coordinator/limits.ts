/** Version of what clients and coordinators say to each other. Both must have the same. */
export const protocolVersion = 1;

/** What a coordinator keeps and takes, at most. */
export const coordinatorLimits = Object.freeze({
  /** Timestamps of one request. */
  timestamps: 100_000,
  /** Sessions at a time. */
  sessions: 10_000,
  /** Characters of a session's name. */
  sessionName: 200,
  /** Sessions that have ended, and are remembered to have. */
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
  /** Sessions that one question is about. */
  asked: 1_000,
  /** Bytes of a message that a coordinator takes. */
  requestBytes: 8 * 2 ** 20,
  /** Bytes of a message that a client takes. */
  replyBytes: 8 * 2 ** 20,
  /** Streams of timestamps and sessions together, and watchers of health, at a time. */
  streams: 30_000,
});

/** How often a connection is asked for a sign of life, in milliseconds, and how long it may take to give one. */
export const keepalive = Object.freeze({ everyMs: 2_000, withinMs: 2_500 });

/**
 * A coordinator that stood still for so long, in milliseconds, has forgotten everything: clients have given up
 * waiting for what they told it last.
 */
export const maxStallMs = 2_000;
