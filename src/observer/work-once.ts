import { GiveUp } from "./change.js";
import { hintPrefix, prefixRange, readHints, type StandingHint } from "./hint.js";
import type { Observer } from "./observer.js";
import type { Registry } from "./registry.js";
import { Runner } from "./runner.js";
import type { Sessions } from "./sessions.js";
import { TaskBoard } from "./task-board.js";

/** Hints of one observer that one look takes on. */
const mostHints = 1_024;

export interface WorkOnceOptions {
  readonly registry: Registry;
  readonly sessions: Sessions;
  /** The observers whose hints are looked for. */
  readonly observers: readonly Observer[];
  readonly signal?: AbortSignal | undefined;
}

/**
 * Looks once at the hints that stand, and runs each once, one after the other: what a worker does, without its timers and
 * without other processes' shares. A run that fails is counted in its hint as ever, and not repeated. Answers how many it ran.
 */
export async function workOnce(options: WorkOnceOptions): Promise<number> {
  const { registry, sessions, observers, signal } = options;
  const { store, environment } = registry.context;
  let isOffering = true;
  const board = new TaskBoard({
    environment,
    queueLimit: () => mostHints,
    // What is put off after its run is left to the next look.
    isWorked: () => isOffering,
    onReady: () => {},
  });
  const runner = new Runner(registry, sessions, board);
  for (const observer of observers) {
    const { hints } = await readHints(store, prefixRange(hintPrefix(observer.name)), mostHints, signal);
    for (const hint of hints) offer(board, observer, hint);
  }
  isOffering = false;
  let ran = 0;
  for (const observer of observers) {
    for (let task = board.take(observer.name); task !== undefined; task = board.take(observer.name)) {
      await runner.run(task, new GiveUp());
      ran++;
    }
    board.drop(observer.name);
  }
  await board.whenQuiet(signal);
  return ran;
}

function offer(board: TaskBoard, observer: Observer, hint: StandingHint): void {
  const { row, column, address, timestamp, state } = hint;
  const cell = { table: observer.target.table.name, row, column };
  board.offer({ observer, cell, hint: address, timestamp, state, takenBy: board });
}
