import { currentTimestamp } from "../../oracle/index.js";
import { SnapshotReader } from "../../transaction/index.js";
import {
  type CrashRecord,
  clearRunner,
  crashNote,
  freshState,
  type HintState,
  readCrashRecord,
  writeCrashRecord,
  writeHintState,
} from "../hint/hint.js";
import type { Task } from "../queue/task.js";
import { readRecords } from "../registry/due.js";
import type { Registry } from "../registry/registry.js";
import type { Sessions } from "../session/sessions.js";

/**
 * After a process has ended uncleanly, each run of its observers is recorded before it starts. This
 * constant says for how long, in microseconds of the oracle: a minute. The worker that replaces the
 * process runs the waiting changes within seconds, so a minute is enough.
 */
const watchedUs = 60_000_000;

/** What is known about processes that ended during a run of a change. */
export interface Crashes {
  /** Number of such processes, including one that is not counted in the store yet. */
  readonly count: number;
  /** Whether one of them is not counted in the store yet. */
  readonly isNew: boolean;
  /** Whether the hint's crash record must announce the run before it starts. */
  readonly isWatched: boolean;
  readonly record: CrashRecord;
}

const noRecord: CrashRecord = Object.freeze({ crashes: 0, countedUpTo: 0 });

/** What is known about a task that is unsuspected. */
export const noCrashes: Crashes = Object.freeze({
  count: 0,
  isNew: false,
  isWatched: false,
  record: noRecord,
});

/**
 * Counts the processes that ended during a run of an observer on a cell. A hint that existed when a
 * process ended uncleanly is suspect, because its run may have caused the end. But a cell that
 * keeps changing soon has a newer hint, which is not suspect. For a minute after an unclean end,
 * each run is therefore recorded before it starts, in a crash record that a new hint does not
 * replace.
 */
export class CrashCounter {
  readonly #registry: Registry;
  readonly #sessions: Sessions;
  readonly #recorded = new Set<Task>();

  constructor(registry: Registry, sessions: Sessions) {
    this.#registry = registry;
    this.#sessions = sessions;
  }

  /** Whether nothing suggests that a run of the task may fail or end its process. */
  isUnsuspected({ state = freshState, observer, timestamp }: Task): boolean {
    const upTo = this.#sessions.suspectUpTo(observer.name);
    const isWatched = upTo > 0 && timestamp - upTo < watchedUs;
    return !isWatched && state.attempts === 0 && state.runner === undefined;
  }

  /**
   * Returns what is known about crashes before a run. It reads the store only if a process that ran
   * the observer ended uncleanly a short time ago.
   */
  async find(task: Task): Promise<Crashes> {
    task.state = this.#withoutLiveRun(task.state);
    const { crashes = 0, countedUpTo = 0, runner } = task.state ?? freshState;
    const upTo = this.#sessions.suspectUpTo(task.observer.name);
    const isWatched = upTo > 0 && task.timestamp - upTo < watchedUs;
    const wasLong = runner !== undefined;
    if (!isWatched && !wasLong) return { count: crashes, isNew: false, isWatched, record: noRecord };
    const record = (await readCrashRecord(this.#registry.context.store, task.hint)) ?? noRecord;
    const isSuspect = task.timestamp <= upTo && Math.max(countedUpTo, record.countedUpTo) < upTo;
    const isNew = wasLong || isSuspect || this.#wasUnderWay(record);
    const before = Math.max(crashes, record.crashes);
    return { count: before + (isNew ? 1 : 0), isNew, isWatched, record };
  }

  /**
   * Removes the announcement of a live session from a hint's state, because a live session has not
   * crashed. Either that session still runs another version of the observer on the cell, or it did
   * not remove its announcement. The stored hint is not changed.
   */
  #withoutLiveRun(state: HintState | undefined): HintState | undefined {
    if (state?.runner === undefined || this.#sessions.isLive(state.runner) !== true) return state;
    return { ...state, attempts: Math.max(0, state.attempts - 1), runner: undefined };
  }

  #wasUnderWay({ runner }: CrashRecord): boolean {
    return runner !== undefined && this.#sessions.isLive(runner) !== true;
  }

  /**
   * Counts a new crash in the task and in the store, before the run starts. A crash counts as an
   * attempt. A long run was already counted while it ran.
   */
  async count(task: Task, found: Crashes): Promise<void> {
    const { isNew, record } = found;
    const state = task.state ?? freshState;
    if (!isNew) {
      if (found.count === (state.crashes ?? 0)) return;
      const { crashes } = record;
      const countedUpTo = Math.max(record.countedUpTo, state.countedUpTo ?? 0);
      task.state = { ...state, attempts: Math.max(state.attempts, crashes), crashes, countedUpTo };
      return;
    }
    const crashes = Math.max(found.count, (await this.#crashesWhenParked(task)) + 1);
    const attempts = state.attempts + (state.runner === undefined ? 1 : 0);
    const upTo = this.#sessions.suspectUpTo(task.observer.name);
    const counted: HintState = {
      ...state,
      attempts: Math.max(attempts, crashes),
      crashes,
      countedUpTo: Math.max(upTo, state.countedUpTo ?? 0, record.countedUpTo),
      runner: undefined,
      error: state.error ?? crashNote,
    };
    await writeHintState(this.#registry.context.store, task.hint, task.timestamp, counted);
    task.state = counted;
  }

  /** How many crashes there were when the cell's change was parked, if it is still parked. */
  async #crashesWhenParked({ observer, cell }: Task): Promise<number> {
    const { context } = this.#registry;
    const registered = (await this.#registry.fresh()).observers.get(observer.name);
    if (registered === undefined) return 0;
    const at = await currentTimestamp(context);
    const unregister = context.active.register(at);
    try {
      const reader = new SnapshotReader(context, at);
      const { parked, acknowledgment } = await readRecords({ reader }, registered, cell);
      return parked !== undefined && parked.start > (acknowledgment?.start ?? 0) ? parked.chain : 0;
    } finally {
      unregister();
    }
  }

  /** Records that a run starts in this process, if it runs alone or its observer is watched. */
  async begin(task: Task, { isWatched }: Crashes, isAlone: boolean): Promise<void> {
    if (!isWatched && !isAlone) return;
    const { crashes = 0, countedUpTo = 0 } = task.state ?? freshState;
    const record = { crashes, countedUpTo, runner: this.#sessions.session, alone: isAlone || undefined };
    await writeCrashRecord(this.#registry.context.store, task.hint, record);
    this.#recorded.add(task);
  }

  /** Called when the run has ended and its hint is deleted together with the record. */
  forget(task: Task): void {
    this.#recorded.delete(task);
  }

  /**
   * Called when the run has ended but its hint still exists. If this process ends from now on, the
   * hint is not the cause.
   */
  async end(task: Task): Promise<void> {
    if (!this.#recorded.delete(task)) return;
    const { crashes = 0, countedUpTo = 0 } = task.state ?? freshState;
    await clearRunner(this.#registry.context.store, task.hint, { crashes, countedUpTo });
  }
}
