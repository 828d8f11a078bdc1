import { rowKey } from "../../transaction/index.js";
import type { Observer } from "../observer.js";
import type { Task } from "../queue/task.js";

/**
 * The runs in progress of observers that share them. Two tasks of one row would both write the
 * acknowledgments of all its changed columns, so one would conflict. While one runs, the others
 * therefore wait for its result, which mostly handles their changes too.
 */
export class SharedRuns {
  /** The tasks that wait, by the group and the row whose task runs. */
  readonly #waiting = new Map<string, Task[]>();

  /** Whether the task may run now. Otherwise {@link end} of the running task returns it. */
  begin(task: Task): boolean {
    const key = keyOf(task);
    if (key === undefined) return true;
    const waiting = this.#waiting.get(key);
    if (waiting === undefined) this.#waiting.set(key, []);
    else waiting.push(task);
    return waiting === undefined;
  }

  /** Ends the run of a task. Returns the tasks that have waited for it. */
  end(task: Task): readonly Task[] {
    const key = keyOf(task);
    if (key === undefined) return [];
    const waiting = this.#waiting.get(key) ?? [];
    this.#waiting.delete(key);
    return waiting;
  }
}

/** The observers with which an observer shares its runs, and itself. Of a family, each cell has a run of its own. */
export function sharersOf({ target, group }: Observer): readonly Observer[] {
  return (target.kind === "column" && group) || [];
}

function keyOf({ observer, cell }: Task): string | undefined {
  const [first] = sharersOf(observer);
  return first && `${first.name}\0${rowKey(cell.table, cell.row)}`;
}
