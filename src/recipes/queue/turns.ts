/**
 * Number of consecutive runs, at most, in which one signal notifies itself. A run that leaves work
 * notifies its signal again. After a thousand such notifications in a row, the engine parks the
 * signal as endless. A long backlog may need more runs than that. Each backlog therefore has two
 * signals, turn 0 and turn 1. Once in a hundred runs, turn 0 notifies turn 1, and turn 1 notifies
 * turn 0. This resets the engine's count.
 */
const runsOfTurn = 100;

/**
 * A run with the turn `turn` did not finish the work. Returns the turn, 0 or 1, of the next run.
 * `runs` is the number of consecutive runs that did not finish the work.
 */
export function nextTurn(turn: number, runs: number): number {
  return turn === 0 && runs % runsOfTurn === runsOfTurn - 1 ? 1 : 0;
}
