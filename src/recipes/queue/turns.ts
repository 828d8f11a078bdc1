/**
 * A run that leaves work notifies its own signal again, and the engine takes a signal that does so a thousand times in a row for
 * one that never ends. Work that is bounded in each run may well take more runs; so each row has two turns, and every
 * hundredth run hands over to the other.
 */
const runsOfTurn = 100;

/** Which turn goes on after the run of `turn`, the `runs`-th in a row that left work. */
export function nextTurn(turn: number, runs: number): number {
  return turn === 0 && runs % runsOfTurn === runsOfTurn - 1 ? 1 : 0;
}
