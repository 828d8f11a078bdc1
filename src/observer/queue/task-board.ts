import { type Environment, onAbort } from "../../environment/index.js";
import { addressKey, type CellAddress, RowTurns } from "../../transaction/index.js";
import type { Observer } from "../observer.js";
import { newTask, type Offer, type OfferedHint, type Task } from "./task.js";
import { TaskQueue } from "./task-queue.js";

/** The most tasks of one observer that wait for their time in memory; more are left to the scan. */
const maxDelayed = 10_000;
/** The most hints whose deletion nobody waits for; while there are as many, no run begins. */
const maxUnsettled = 1_024;

/** What waits and runs of one observer. */
interface Lane {
  readonly observer: Observer;
  readonly queue: TaskQueue;
  running: number;
  delayed: number;
  /** Tasks in the queue that were withdrawn. */
  withdrawn: number;
  /** A hint was turned away: only a scan will find it. */
  overflowed: boolean;
}

export interface TaskBoardOptions {
  readonly environment: Environment;
  /** The most tasks of an observer that wait to be run. */
  readonly queueLimit: (observer: string) => number;
  /** Whether any worker here runs the observer. */
  readonly isWorked: (observer: string) => boolean;
  /** Turns on rows that runs conflict on. Default: of its own. */
  readonly turns?: RowTurns | undefined;
  /** Called when a task may be taken. */
  readonly onReady: () => void;
  /** Called when a task is over, or was let go. */
  readonly onForget?: ((task: Task) => void) | undefined;
}

/**
 * Everything that this process has taken on: the queues of its observers, and the claims (protocol
 * §5.9), which are kept in memory only. Bounded: what does not fit is found by the scan.
 */
export class TaskBoard {
  readonly #environment: Environment;
  readonly #queueLimit: (observer: string) => number;
  readonly #tasks = new Map<string, Task>();
  readonly #lanes = new Map<string, Lane>();
  readonly #isWorked: (observer: string) => boolean;
  readonly #turns: RowTurns;
  readonly #onReady: () => void;
  readonly #onForget: ((task: Task) => void) | undefined;
  readonly #onQuiet = new Set<() => void>();
  /**
   * Deletions of hints that nobody waits for, but that have to be over before the board is quiet.
   */
  #unsettled = 0;
  #completed = 0;

  constructor(options: TaskBoardOptions) {
    this.#environment = options.environment;
    this.#queueLimit = options.queueLimit;
    this.#isWorked = options.isWorked;
    this.#turns = options.turns ?? new RowTurns(options.environment);
    this.#onReady = options.onReady;
    this.#onForget = options.onForget;
  }

  /**
   * Runs that have ended, so that two looks at the hints can be told to have had none between them.
   */
  get completed(): number {
    return this.#completed;
  }

  get size(): number {
    return this.#tasks.size;
  }

  get isQuiet(): boolean {
    return this.#tasks.size === 0 && this.#unsettled === 0;
  }

  /** How many tasks of an observer wait to be run. */
  queued(observer: string): number {
    const lane = this.#lanes.get(observer);
    return lane === undefined ? 0 : lane.queue.length - lane.withdrawn;
  }

  /** How many more of an observer's tasks may wait to be run. */
  room(observer: string): number {
    return Math.max(0, this.#queueLimit(observer) - this.queued(observer));
  }

  /** Whether so much is still to be tidied up after runs that no other should begin. */
  get isCongested(): boolean {
    return this.#unsettled >= maxUnsettled;
  }

  running(observer: string): number {
    return this.#lanes.get(observer)?.running ?? 0;
  }

  /** Whether a hint was turned away since the last scan: only a scan will find it. */
  hasOverflowed(observer: string): boolean {
    return this.#lanes.get(observer)?.overflowed ?? false;
  }

  /** A scan begins, which will find what was turned away. */
  forgetOverflow(observer: string): void {
    const lane = this.#lanes.get(observer);
    if (lane !== undefined) lane.overflowed = false;
  }

  /** More was found than fits: a scan is to come back for it. */
  markOverflow(observer: Observer): void {
    this.#laneOf(observer).overflowed = true;
  }

  /** Whether the queue of an observer has emptied enough to be filled again. */
  hasRoom(observer: string): boolean {
    return this.queued(observer) <= this.#queueLimit(observer) / 2;
  }

  /**
   * Takes a hint on, unless somebody has it. A newer change of a cell that is being worked on makes
   * it due again.
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
   * Its time may have been written by another's clock: no wait is longer than the longest that the
   * observer has.
   */
  #waitOf({ state, observer }: OfferedHint): number {
    const waitMs = (state?.notBefore ?? 0) - this.#environment.now();
    return Math.min(waitMs, observer.backoff.maximumMs);
  }

  /** Who has taken a hint on, if anybody has. */
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
   * Another process has it: lets go of it, unless it runs, or is over and another task of the cell
   * stands.
   */
  withdraw(task: Task): void {
    if (this.#tasks.get(task.key) !== task) return;
    task.isClaimed = false;
    if (task.phase === "running") return;
    if (task.phase === "delayed") this.#undelay(task);
    else this.#unqueue(task);
    this.#forget(task);
    this.#checkQuiet();
  }

  /** Lets go of what waits and is not this process's: another one will do it. */
  letGo(isOurs: (task: Task) => boolean): void {
    for (const task of [...this.#tasks.values()]) {
      if (task.phase !== "queued" || isOurs(task)) continue;
      this.#unqueue(task);
      this.#forget(task);
    }
    this.#checkQuiet();
  }

  /**
   * It stands in the queue until its turn, or until there are more such than others: its turn may
   * never come.
   */
  #unqueue(task: Task): void {
    const lane = this.#laneOf(task.observer);
    task.phase = "withdrawn";
    lane.withdrawn++;
    if (lane.withdrawn * 2 <= lane.queue.length) return;
    lane.queue.keep(({ phase }) => phase !== "withdrawn");
    lane.withdrawn = 0;
  }

  /** The next task of an observer, marked as running. */
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
   * A run has ended for good: the cell is handled up to `start`, parked, or somebody else's. The
   * claim stands until `settling` is over too.
   */
  done(task: Task, start: number, settling?: Promise<unknown>): void {
    this.#endRun(task);
    if (task.again <= start) task.again = 0;
    if (settling === undefined) this.#release(task);
    else this.#settle(task, settling);
    this.#checkQuiet();
  }

  /**
   * A run has ended, and the cell is to be run again after a while; at once where a newer change
   * has come, unless it is somebody's success that stands in the way. If that was on the row
   * `lostOn`, it also waits for its turn there.
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

  #endRun(task: Task): void {
    this.#completed++;
    this.#laneOf(task.observer).running--;
    this.#endTurn(task);
  }

  /** The claim stands until the hint is gone, so that no scan takes it on again meanwhile. */
  #settle(task: Task, settling: Promise<unknown>): void {
    this.#unsettled++;
    const end = () => {
      const wasCongested = this.isCongested;
      this.#unsettled--;
      this.#release(task);
      this.#checkQuiet();
      if (wasCongested && !this.isCongested) this.#onReady();
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

  /** Whether a newer change has come while it ran; the task is then about that one. */
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
    // Others wait for its turn to end.
    if (task.endTurn === undefined) queue.push(task);
    else queue.unshift(task);
    this.#onReady();
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

  /** It has no place among the runs meanwhile: those of other rows go on. */
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

  /** Lets go of what waits of an observer: nobody here works on it any more. */
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

  /** Resolves when nothing waits, runs or is delayed. */
  whenQuiet(signal?: AbortSignal): Promise<void> {
    return this.#when(() => this.isQuiet, signal);
  }

  /**
   * Resolves when nothing waits to be run, runs, or is being tidied up; what is delayed may stand.
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
