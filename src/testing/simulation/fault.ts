/** What may go wrong with one request. */
export const networkFaults = ["lostRequest", "lostAnswer", "slow", "late", "twice"] as const;
/** What may happen to a client's process, or its clocks. */
export const processFaults = ["stop", "restart", "pause", "cut", "clockJump"] as const;
/** What may happen to a candidate for leadership over the oracle. */
export const oracleFaults = ["oracleStop", "oraclePause", "oracleCut", "oracleClockJump"] as const;
/** What may be wrong from the beginning. */
export const clockFaults = ["clockOffset", "clockDrift"] as const;

/** What goes wrong between a process and its store. */
export type NetworkFault = (typeof networkFaults)[number];
/** What goes wrong with a process itself. */
export type ProcessFault = (typeof processFaults)[number];
/** What goes wrong with the oracle. */
export type OracleFault = (typeof oracleFaults)[number];
/** What goes wrong with the clock of a process. */
export type ClockFault = (typeof clockFaults)[number];

/**
 * The faults of a simulation.
 *
 * - `lostRequest`: never arrives; the sender is told after a timeout that no answer came.
 * - `lostAnswer`: done; the sender is told that no answer came.
 * - `slow`: takes up to seconds either way; past the timeout the sender is told that no answer came.
 * - `late`: the sender is told that no answer came, and it is done after that, up to the retention after it was sent.
 * - `twice`: done twice; the sender gets either answer.
 * - `stop`: a process stops for good. `restart`: another one with the same program takes its place.
 * - `pause`: a process stands still, and goes on as if nothing had been.
 * - `cut`: nothing that a process sends arrives for a while.
 * - `clockOffset`, `clockDrift`, `clockJump`: wall clocks differ, run fast or slowly, are set forward or back.
 * - `oracleStop`, `oraclePause`, `oracleCut`, `oracleClockJump`: the same of the oracle's candidates for leadership.
 */
export type FaultKind = NetworkFault | ProcessFault | OracleFault | ClockFault;

/** Every fault that a simulation knows. */
export const faultKinds: readonly FaultKind[] = [
  ...networkFaults,
  ...processFaults,
  ...oracleFaults,
  ...clockFaults,
];
