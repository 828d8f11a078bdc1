/** Faults of one request. */
export const networkFaults = ["lostRequest", "lostAnswer", "slow", "late", "twice"] as const;
/** Faults of a client's process, or of its clocks. */
export const processFaults = ["stop", "restart", "pause", "cut", "clockJump"] as const;
/** Faults of a candidate for leadership of the oracle. */
export const oracleFaults = ["oracleStop", "oraclePause", "oracleCut", "oracleClockJump"] as const;
/** Faults that last from the beginning. */
export const clockFaults = ["clockOffset", "clockDrift"] as const;

/** A fault between a process and its store. */
export type NetworkFault = (typeof networkFaults)[number];
/** A fault of a process itself. */
export type ProcessFault = (typeof processFaults)[number];
/** A fault of the oracle. */
export type OracleFault = (typeof oracleFaults)[number];
/** A fault of a process's clock. */
export type ClockFault = (typeof clockFaults)[number];

/**
 * The faults of a simulation.
 *
 * - `lostRequest`: the request never arrives. The sender learns after a timeout that no answer
 *   came.
 * - `lostAnswer`: the request is performed. The sender learns that no answer came.
 * - `slow`: the request or answer takes up to seconds. After the timeout the sender learns that no
 *   answer came.
 * - `late`: the sender learns that no answer came, and the request is performed later, up to the
 *   retention after it was sent.
 * - `twice`: the request is performed twice. The sender gets either answer.
 * - `stop`: a process stops for good. `restart`: another process with the same program replaces it.
 * - `pause`: a process pauses, and then continues as if nothing had happened.
 * - `cut`: nothing that a process sends arrives for a while.
 * - `clockOffset`, `clockDrift`, `clockJump`: wall clocks differ, run fast or slow, or are moved
 *   forward or back.
 * - `oracleStop`, `oraclePause`, `oracleCut`, `oracleClockJump`: the same for the oracle's
 *   candidates for leadership.
 */
export type FaultKind = NetworkFault | ProcessFault | OracleFault | ClockFault;

/** Every fault that a simulation knows. */
export const faultKinds: readonly FaultKind[] = [
  ...networkFaults,
  ...processFaults,
  ...oracleFaults,
  ...clockFaults,
];
