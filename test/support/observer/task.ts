import { hintAddress, hintPrefix } from "../../../src/observer/hint/hint.js";
import type { Observer } from "../../../src/observer/index.js";
import type { Task } from "../../../src/observer/queue/task.js";
import { columnPath } from "../../../src/schema/index.js";

/**
 * Returns the task that a worker creates when it finds a hint with this timestamp, for an observer
 * of `documents.contents`.
 */
export function taskFor(of: Observer, row: string, timestamp: number): Task {
  const cell = { table: "documents", row: Buffer.from(row), column: columnPath("contents") };
  return {
    key: row,
    observer: of,
    cell,
    hint: hintAddress(hintPrefix(of.name), cell),
    takenBy: undefined,
    timestamp,
    state: undefined,
    phase: "running",
    isClaimed: false,
    again: 0,
    conflicts: 0,
    setbacks: 0,
    chain: 0,
    company: Number.POSITIVE_INFINITY,
    timer: undefined,
    endTurn: undefined,
  };
}
