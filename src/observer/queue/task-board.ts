import { type Environment, onAbort } from "../../environment/index.js";
import { addressKey, type CellAddress, RowTurns } from "../../transaction/index.js";
import type { Observer } from "../observer.js";
import { newTask, type Offer, type OfferedHint, type Task } from "./task.js";
import { TaskQueue } from "./task-queue.js";

/**
 * Maximum number of delayed tasks of one observer in memory. A later scan finds the hints of
 * further ones.
 */
const maxDelayed = 10_000;
/** Maximum number of hint deletions in progress. At this number, no run begins. */
const maxUnsettled = 1_024;

/** The tasks of one observer. */
interface Lane {
  readonly observer: Observer;
  readonly queue: TaskQueue;
  running: number;
  delayed: number;
  /** Number of withdrawn tasks that are still in the queue. */
  withdrawn: number;
  /** Whether the board has refused a hint. Only a scan will find that hint again. */
  overflowed: boolean;
}

export interface TaskBoardOptions {
  readonly environment: Environment;
  /** The most queued tasks of an observer. */
  readonly queueLimit: (observer: string) => number;
  /** Whether any worker of this process runs the observer. */
  readonly isWorked: (observer: string) => boolean;
  /**
   * Lets tasks that conflicted on a row run one after another. Default: a separate instance for
   * this board.
   */
  readonly turns?: RowTurns | undefined;
  /** Called when a task has ended, or when this process has left it to another process. */
  readonly onForget?: ((task: Task) => void) | undefined;
}

/**
 * All tasks that this process has taken on, with one queue for each observer, and the process's own
 * claims (protocol §5.9). The board exists only in memory, and its size is bounded. A later scan
 * finds the hints for which the board has no room.
 *
 * | phase of a task | next | when |
 * | --- | --- | --- |
 * | (none) | `queued` | its hint is offered, may run now, and the queue has room |
 * | (none) | `delayed` | its hint is offered, but may only run later |
 * | `queued` | `running` | a worker takes it |
 * | `queued` | `withdrawn` | the hint is another process's; the task leaves the queue later |
 * | `delayed` | `queued` | its time and its turn on the row have come, or the cell has changed |
 * | `delayed` | (none) | the hint is another process's, or no worker here runs the observer |
 * | `running` | `queued` | its run ended, and may begin again at once: the cell has changed |
 * | `running` | `delayed` | its run failed, or conflicted on a row |
 * | `running` | (none) | the cell is handled or parked, and its hint is deleted |
 * | `running` | `waiting` | a run in progress will probably handle the cell too |
 * | `queued` | `waiting` | a run of several tasks takes it along |
 * | `waiting` | `queued` | that run has ended, and has not handled the cell |
 * | any | (none) | a run of another task has handled the cell |
 */
export class TaskBoard {
  readonly #environment: Environment;
  readonly #queueLimit: (observer: string) => number;
  readonly #tasks = new Map<string, Task>();
  readonly #lanes = new Map<string, Lane>();
  readonly #isWorked: (observer: string) => boolean;
  readonly #turns: RowTurns;
  readonly #onReady = new Set<() => void>();
  readonly #onForget: ((task: Task) => void) | undefined;
  readonly #onQuiet = new Set<() => void>();
  /**
   * Number of hint deletions in progress. No caller waits for them, but the board is not quiet
   * before they have ended.
   */
  #unsettled = 0;
  #completed = 0;

  constructor(options: TaskBoardOptions) {
    this.#environment = options.environment;
    this.#queueLimit = options.queueLimit;
    this.#isWorked = options.isWorked;
    this.#turns = options.turns ?? new RowTurns(options.environment);
    this.#onForget = options.onForget;
  }

  /**
   * Calls `listener` when a worker may be able to begin a run. Call the returned function to stop
   * that.
   */
  onReady(listener: () => void): () => void {
    this.#onReady.add(listener);
    return () => this.#onReady.delete(listener);
  }

  /** Lets the workers begin as many runs as they may. */
  wake(): void {
    for (const listener of this.#onReady) listener();
  }

  /** Number of runs that have ended. If two readings are equal, no run ended between them. */
  get completed(): number {
    return this.#completed;
  }

  get size(): number {
    return this.#tasks.size;
  }

  get isQuiet(): boolean {
    return this.#tasks.size === 0 && this.#unsettled === 0;
  }

  /** How many tasks of an observer are queued. */
  queued(observer: string): number {
    const lane = this.#lanes.get(observer);
    return lane === undefined ? 0 : lane.queue.length - lane.withdrawn;
  }

  /** Whether tasks of any observer are queued. */
  get hasQueued(): boolean {
    for (const { queue, withdrawn } of this.#lanes.values()) if (queue.length > withdrawn) return true;
    return false;
  }

  /** How many more tasks of an observer fit into its queue. */
  room(observer: string): number {
    return Math.max(0, this.#queueLimit(observer) - this.queued(observer));
  }

  /** Whether so many deletions of hints are in progress that no further run should begin. */
  get isCongested(): boolean {
    return this.#unsettled >= maxUnsettled;
  }

  running(observer: string): number {
    return this.#lanes.get(observer)?.running ?? 0;
  }

  /**
   * Whether the board has refused a hint since the last scan. Only a scan will find that hint
   * again.
   */
  hasOverflowed(observer: string): boolean {
    return this.#lanes.get(observer)?.overflowed ?? false;
  }

  /** Called when a scan begins, because that scan will find the refused hints. */
  forgetOverflow(observer: string): void {
    const lane = this.#lanes.get(observer);
    if (lane !== undefined) lane.overflowed = false;
  }

  /**
   * Called when a scan has found more hints than the queue can take, so that another scan follows.
   */
  markOverflow(observer: Observer): void {
    this.#laneOf(observer).overflowed = true;
  }

  /** Whether an observer's queue is at most half full, so that a scan may fill it again. */
  hasRoom(observer: string): boolean {
    return this.queued(observer) <= this.#queueLimit(observer) / 2;
  }

  /**
   * Takes a hint on, unless a task for the same observer and cell exists. If the hint is newer than
   * that task, the task becomes due again.
   */
  offer(offered: OfferedHint): Offer {
    const key = taskKey(offered.observer.name, offered.cell);
    const held = this.#tasks.get(key);
    if (held !== undefined) {
      this.#renew(held, offered);
      return "held";
    }
    const lane = this.#laneOf(offered.observer);
    const waitMs = this.#waitOf(offered);
    if (waitMs > 0 && lane.delayed >= maxDelayed) return "waits";
    if (waitMs <= 0 && lane.queue.length - lane.withdrawn >= this.#queueLimit(offered.observer.name)) {
      lane.overflowed = true;
      return "full";
    }
    const task = newTask(key, offered);
    this.#tasks.set(key, task);
    if (waitMs > 0) this.#delay(task, waitMs);
    else this.#enqueue(task);
    return "taken";
  }

  /**
   * How long a hint must wait. The time in the hint may come from another process, whose clock may
   * be wrong. The wait is therefore at most the observer's longest wait between attempts.
   */
  #waitOf({ state, observer }: OfferedHint): number {
    const waitMs = (state?.notBefore ?? 0) - this.#environment.now();
    return Math.min(waitMs, observer.backoff.maximumMs);
  }

  /** The task for an observer and a cell. Undefined if there is none. */
  taskOf(observer: string, cell: CellAddress): Task | undefined {
    return this.#tasks.get(taskKey(observer, cell));
  }

  #renew(task: Task, offered: OfferedHint): void {
    if (offered.timestamp <= task.timestamp) return;
    if (task.phase === "running") {
      task.again = Math.max(task.again, offered.timestamp);
      return;
    }
    task.timestamp = offered.timestamp;
    task.state = offered.state;
    task.conflicts = 0;
    task.setbacks = 0;
    if (task.phase === "delayed" && this.#waitOf(offered) <= 0) {
      this.#undelay(task);
      this.#enqueue(task);
    }
  }

  /**
   * Drops a task that another process has claimed. If the task is running, it continues. If the
   * task has already ended, does nothing: its cell may have another task by then.
   */
  withdraw(task: Task): void {
    if (this.#tasks.get(task.key) !== task) return;
    task.isClaimed = false;
    if (task.phase === "running" || task.phase === "waiting") return;
    this.#dequeue(task);
    this.#forget(task);
    this.#checkQuiet();
  }

  /**
   * Drops the queued tasks that do not belong to this process. The processes that own them will run
   * them.
   */
  letGo(isOurs: (task: Task) => boolean): void {
    for (const task of [...this.#tasks.values()]) {
      if (task.phase !== "queued" || isOurs(task)) continue;
      this.#unqueue(task);
      this.#forget(task);
    }
    this.#checkQuiet();
  }

  /**
   * Withdraws a queued task. It stays in the queue until a worker reaches it, or until more than
   * half of the queue is withdrawn.
   */
  #unqueue(task: Task): void {
    const lane = this.#laneOf(task.observer);
    task.phase = "withdrawn";
    lane.withdrawn++;
    if (lane.withdrawn * 2 <= lane.queue.length) return;
    lane.queue.keep(({ phase }) => phase !== "withdrawn");
    lane.withdrawn = 0;
  }

  /** Takes the next task of an observer, and marks it as running. */
  take(observer: string): Task | undefined {
    const lane = this.#lanes.get(observer);
    if (lane === undefined) return undefined;
    for (let task = lane.queue.shift(); task !== undefined; task = lane.queue.shift()) {
      if (task.phase === "withdrawn") {
        lane.withdrawn--;
        continue;
      }
      task.phase = "running";
      lane.running++;
      return task;
    }
    return undefined;
  }

  /**
   * Ends a task after its last run: the cell is handled up to `start`, parked, or left to another
   * process. The task keeps its claim until `settling` has ended.
   */
  done(task: Task, start: number, settling?: Promise<unknown>): void {
    this.#endRun(task);
    if (task.again <= start) task.again = 0;
    if (settling === undefined) this.#release(task);
    else this.#settle(task, settling);
    this.#checkQuiet();
  }

  /**
   * Ends a run whose cell must run again after `waitMs`. If a newer change has arrived, the cell
   * runs again at once, except after a conflict. If the run conflicted on the row `lostOn`, the
   * cell also waits for its turn on that row.
   */
  postpone(task: Task, waitMs: number, isConflict: boolean, lostOn?: string): void {
    this.#endRun(task);
    const isNewer = this.#takeAgain(task);
    if (waitMs <= 0 || (isNewer && !isConflict)) this.#enqueue(task);
    else if (this.#laneOf(task.observer).delayed < maxDelayed && this.#isWorked(task.observer.name)) {
      this.#delay(task, waitMs, lostOn);
    } else this.#forget(task);
    this.#checkQuiet();
  }

  /** Lets a task wait for the run of another task, instead of its own run. */
  wait(task: Task): void {
    this.#laneOf(task.observer).running--;
    task.phase = "waiting";
    this.#takeAgain(task);
    this.#endTurn(task);
  }

  /**
   * Takes further tasks of the observer along to a run, up to `most` tasks in all. They wait for its
   * end: see {@link runAfterAll}. It takes tasks in their order, up to the first that may not join.
   */
  takeAlong(leader: Task, most: number, mayJoin: (task: Task) => boolean): readonly Task[] {
    const lane = this.#laneOf(leader.observer);
    const along: Task[] = [];
    let size = most;
    while (along.length + 1 < size) {
      const task = lane.queue.shift();
      if (task === undefined) break;
      if (task.phase === "withdrawn") {
        lane.withdrawn--;
        continue;
      }
      size = Math.min(size, task.company);
      if (along.length + 2 > size || !mayJoin(task)) {
        lane.queue.unshift(task);
        break;
      }
      task.phase = "waiting";
      along.push(task);
    }
    return along;
  }

  /** Queues a task that has waited, unless the run of the other task has ended it. */
  runAfterAll(task: Task): void {
    if (this.#tasks.get(task.key) !== task) return;
    this.#enqueue(task);
    this.#checkQuiet();
  }

  /** Ends the task of a cell, if there is one, after a run of another task has handled the cell up to `start`. */
  handledBeside(observer: string, cell: CellAddress, start: number): void {
    const task = this.taskOf(observer, cell);
    if (task === undefined || task.timestamp > start || task.phase === "running") return;
    this.#dequeue(task);
    this.#forget(task);
    this.#checkQuiet();
  }

  /** Takes a task off its queue, or cancels its wait. */
  #dequeue(task: Task): void {
    if (task.phase === "delayed") this.#undelay(task);
    else if (task.phase === "queued") this.#unqueue(task);
  }

  #endRun(task: Task): void {
    this.#completed++;
    this.#laneOf(task.observer).running--;
    this.#endTurn(task);
  }

  /** Keeps the claim until the hint is deleted. Otherwise, a scan could take the hint on again. */
  #settle(task: Task, settling: Promise<unknown>): void {
    this.#unsettled++;
    const end = () => {
      const wasCongested = this.isCongested;
      this.#unsettled--;
      this.#release(task);
      this.#checkQuiet();
      if (wasCongested && !this.isCongested) this.wake();
    };
    settling.then(end, end);
  }

  #release(task: Task): void {
    if (this.#takeAgain(task)) this.#enqueue(task);
    else this.#forget(task);
  }

  #forget(task: Task): void {
    this.#endTurn(task);
    this.#tasks.delete(task.key);
    this.#onForget?.(task);
  }

  /** Whether a newer change arrived during the run. If so, the task now handles that change. */
  #takeAgain(task: Task): boolean {
    if (task.again <= task.timestamp) return false;
    task.timestamp = task.again;
    task.again = 0;
    task.state = undefined;
    return true;
  }

  #endTurn(task: Task): void {
    const { endTurn } = task;
    task.endTurn = undefined;
    endTurn?.();
  }

  #enqueue(task: Task): void {
    if (!this.#isWorked(task.observer.name)) {
      this.#forget(task);
      return;
    }
    task.phase = "queued";
    const { queue } = this.#laneOf(task.observer);
    // Other tasks wait for this task's turn to end, so a task with a turn goes to the front.
    if (task.endTurn === undefined) queue.push(task);
    else queue.unshift(task);
    this.wake();
  }

  #delay(task: Task, waitMs: number, lostOn?: string): void {
    task.phase = "delayed";
    this.#laneOf(task.observer).delayed++;
    const due = () => {
      this.#undelay(task);
      this.#enqueue(task);
    };
    const onTime = lostOn === undefined ? due : () => this.#awaitTurn(task, lostOn, due);
    task.timer = this.#environment.setTimer(onTime, waitMs, { background: true });
  }

  /**
   * Waits for a turn on a row. A waiting task does not count toward the worker's concurrency, so
   * tasks of other rows can run.
   */
  #awaitTurn(task: Task, row: string, due: () => void): void {
    task.timer = this.#turns.wait(row, (end) => {
      task.endTurn = end;
      due();
    });
  }

  #undelay(task: Task): void {
    task.timer?.cancel();
    task.timer = undefined;
    this.#laneOf(task.observer).delayed--;
  }

  /**
   * Drops an observer's waiting tasks, because no worker of this process runs the observer any
   * more.
   */
  drop(observer: string): void {
    const lane = this.#lanes.get(observer);
    if (lane === undefined) return;
    for (const task of lane.queue.drain()) if (task.phase !== "withdrawn") this.#forget(task);
    lane.withdrawn = 0;
    for (const task of [...this.#tasks.values()]) {
      if (task.observer.name !== observer || task.phase !== "delayed") continue;
      this.#undelay(task);
      this.#forget(task);
    }
    this.#checkQuiet();
  }

  /** Resolves when no task is queued, running or delayed. */
  whenQuiet(signal?: AbortSignal): Promise<void> {
    return this.#when(() => this.isQuiet, signal);
  }

  /**
   * Resolves when no task is queued or running and no hint is being deleted. Tasks may be delayed.
   */
  whenOnlyDelayed(): Promise<void> {
    return this.#when(() => this.#unsettled === 0 && this.#tasks.size === this.#delayed);
  }

  get #delayed(): number {
    let delayed = 0;
    for (const lane of this.#lanes.values()) delayed += lane.delayed;
    return delayed;
  }

  #when(isSo: () => boolean, signal?: AbortSignal): Promise<void> {
    if (isSo()) return Promise.resolve();
    return new Promise((resolve, reject) => {
      const end = (settle: () => void) => {
        this.#onQuiet.delete(onQuiet);
        stopListening();
        settle();
      };
      const onQuiet = () => {
        if (isSo()) end(resolve);
      };
      if (signal?.aborted) {
        reject(signal.reason);
        return;
      }
      this.#onQuiet.add(onQuiet);
      const stopListening = onAbort(signal, () => end(() => reject(signal?.reason)));
    });
  }

  #checkQuiet(): void {
    for (const listener of [...this.#onQuiet]) listener();
  }

  #laneOf(observer: Observer): Lane {
    let lane = this.#lanes.get(observer.name);
    if (lane === undefined) {
      lane = { observer, queue: new TaskQueue(), running: 0, delayed: 0, withdrawn: 0, overflowed: false };
      this.#lanes.set(observer.name, lane);
    }
    return lane;
  }
}

function taskKey(observer: string, cell: CellAddress): string {
  return `${observer}\0${addressKey(cell)}`;
}
