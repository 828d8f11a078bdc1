/**
 * Runs in a row after which work moves to the other turn. A run that leaves work notifies its own
 * signal again. After a thousand such notifications in a row the engine stops the signal as
 * endless, but a long backlog may need more runs. Each row therefore has two turns, and every
 * hundredth run continues on the other.
 */
const runsOfTurn = 100;

/**
 * Returns the turn that continues after a run of `turn` that left work. `runs` is the number of
 * such runs in a row.
 */
export function nextTurn(turn: number, runs: number): number {
  return turn === 0 && runs % runsOfTurn === runsOfTurn - 1 ? 1 : 0;
}
