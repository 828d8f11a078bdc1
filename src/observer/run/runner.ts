import { type Backoff, backoffDelay } from "../../environment/index.js";
import { ConflictError, type ErrorCode, ObserverError, PercolatorError } from "../../errors/index.js";
import { conflictCell, rowKey, showCell } from "../../transaction/index.js";
import type { GiveUp } from "../change.js";
import { StoppedError, shortFailure } from "../hint/failure.js";
import { freshState, type HintState, writeHintState } from "../hint/hint.js";
import type { Observer } from "../observer.js";
import type { Task } from "../queue/task.js";
import type { TaskBoard } from "../queue/task-board.js";
import type { Registry } from "../registry/registry.js";
import type { Sessions } from "../session/sessions.js";
import { type AttemptResult, attempt } from "./attempt.js";
import { CrashCounter, type Crashes, noCrashes } from "./crashes.js";
import { park } from "./park.js";
import { RunsUnderWay } from "./runs-under-way.js";
import { SharedRuns } from "./shared-runs.js";
import { SuspectTurns } from "./suspect-turns.js";

const conflictBackoff = { initialMs: 1, maximumMs: 200 };
/** After an outage of the store or the coordinator, work continues within 5 seconds. */
const setbackBackoff = { initialMs: 100, maximumMs: 5_000 };
/**
 * The number of consecutive conflicts that count as a failed attempt. So many conflicts have
 * another cause than bad luck.
 */
const maxConflicts = 100;
/** From this many crashes on, a hint runs only while no other hint with a crash runs. */
const crashesToRunAlone = 2;

type Failed = Extract<AttemptResult, { outcome: "failed" }>;
/** What the event of a run says besides. */
interface RunFigures {
  readonly delayMs?: number;
  readonly changes?: number;
  readonly attempts?: number;
}

type RunOutcome = "committed" | "clean" | "conflict" | "failed" | "timeout" | "parked";

/** Carries out a task: counts crashes before the run, makes an attempt, and handles its result. */
export class Runner {
  readonly #registry: Registry;
  readonly #sessions: Sessions;
  readonly #board: TaskBoard;
  /** Tasks whose hints announce a long run in this process. */
  readonly #announced = new Set<Task>();
  readonly #crashes: CrashCounter;
  readonly #turns: SuspectTurns;
  readonly #underWay: RunsUnderWay;
  readonly #shared = new SharedRuns();
  /** The most changes of a run of batch observers whose larger runs took too long or wrote too much. */
  readonly #sizes = new Map<string, number>();

  constructor(registry: Registry, sessions: Sessions, board: TaskBoard) {
    this.#crashes = new CrashCounter(registry, sessions);
    this.#registry = registry;
    this.#sessions = sessions;
    this.#board = board;
    this.#turns = new SuspectTurns(registry.context.environment);
    this.#underWay = new RunsUnderWay(registry.context.environment);
  }

  /**
   * Runs a task that was taken from the board, and returns it to the board. If a run in progress
   * will probably handle its change too, leaves the task to that run, and resolves to false. Never
   * rejects.
   */
  async run(task: Task, giveUp: GiveUp): Promise<boolean> {
    if (!this.#shared.begin(task)) {
      this.#board.wait(task);
      return false;
    }
    try {
      if (this.#crashes.isUnsuspected(task)) await this.#attempt(task, noCrashes, giveUp);
      else await this.#runSuspect(task, giveUp);
    } catch (error) {
      if (error instanceof StoppedError) this.#board.postpone(task, 0, true);
      else {
        this.#report(`running observer "${task.observer.name}"`, error);
        this.#retryLater(task, setbackBackoff, ++task.setbacks);
      }
    } finally {
      for (const other of this.#shared.end(task)) this.#board.runAfterAll(other);
    }
    return true;
  }

  async #runSuspect(task: Task, giveUp: GiveUp): Promise<void> {
    const found = await this.#crashes.find(task);
    const run = () => this.#runCounted(task, found, giveUp);
    if (found.count === 0) await run();
    else await (found.count < crashesToRunAlone ? this.#turns.beside(run) : this.#turns.alone(run));
  }

  get #environment() {
    return this.#registry.context.environment;
  }

  /**
   * Runs a hint after its earlier runs that ended their process were counted. That is as late as
   * here, because while the hint waits for its turn, another hint may end the process.
   */
  async #runCounted(task: Task, found: Crashes, giveUp: GiveUp): Promise<void> {
    await this.#crashes.count(task, found);
    const { attempts } = task.state ?? freshState;
    const isAlone = found.count >= crashesToRunAlone;
    if (attempts >= task.observer.attempts && !(isAlone && owesRunAlone(task, found))) {
      await this.#parkUnrun(task, attempts, giveUp);
      return;
    }
    await this.#crashes.begin(task, found, isAlone);
    await this.#attempt(task, found, giveUp);
  }

  async #parkUnrun(task: Task, attempts: number, giveUp: GiveUp): Promise<void> {
    const last = task.state?.error === undefined ? "" : ` Last: ${task.state.error}`;
    const error = new ObserverError(
      `Observer "${task.observer.name}" started on ${showCell(task.cell, this.#registry)} ${attempts} times and never finished: its process ` +
        `ended, or the run failed.${last}`,
    );
    await this.#park(task, task.timestamp, attempts, error, 0, giveUp, task.state?.crashes);
  }

  async #attempt(task: Task, found: Crashes, giveUp: GiveUp): Promise<void> {
    const startedAt = this.#environment.monotonic();
    let announcing: Promise<unknown> | undefined;
    const along: Task[] = [];
    const onLong = () => {
      announcing = Promise.all([task, ...along].map((each) => this.#announce(each)));
    };
    try {
      const result = await attempt({
        registry: this.#registry,
        task,
        giveUp,
        underWay: this.#underWay,
        company: task.observer.batch === undefined ? undefined : () => this.#takeAlong(task, found, along),
        onLong,
      });
      if (announcing !== undefined) await announcing;
      const durationMs = this.#environment.monotonic() - startedAt;
      if (along.length > 0) await this.#disband(along, result);
      await this.#end(task, result, durationMs, along, giveUp);
    } catch (error) {
      // The run has ended, so its announcements must not count as crashes of this process.
      await announcing;
      await Promise.allSettled([task, ...along].map((each) => this.#retract(each)));
      throw error;
    } finally {
      this.#announced.delete(task);
      for (const each of along) {
        this.#announced.delete(each);
        this.#board.runAfterAll(each);
        for (const other of this.#shared.end(each)) this.#board.runAfterAll(other);
      }
    }
  }

  /**
   * Takes further tasks of a batch observer along, and returns those that join the run. After conflicts,
   * takes fewer.
   */
  async #takeAlong(task: Task, { count }: Crashes, along: Task[]): Promise<readonly Task[]> {
    const { batch = 1, name } = task.observer;
    const size = Math.min(this.#sizes.get(name) ?? batch, task.company);
    const most = Math.floor(size / 2 ** task.conflicts);
    if (most < 2 || !mayJoin(task)) return [];
    // One whose row another run has taken waits for that run.
    along.push(...this.#board.takeAlong(task, most, mayJoin).filter((each) => this.#shared.begin(each)));
    const joins = await Promise.all(along.map((each) => this.#joins(each, count)));
    return along.filter((_, index) => joins[index]);
  }

  /**
   * Counts crashes of a task that was taken along, as before a run of its own. Returns whether it has seen
   * no more of them than the run that it joins.
   */
  async #joins(task: Task, mostCrashes: number): Promise<boolean> {
    if (this.#crashes.isUnsuspected(task)) return true;
    const found = await this.#crashes.find(task);
    if (found.count > mostCrashes) return false;
    await this.#crashes.count(task, found);
    if ((task.state?.attempts ?? 0) >= task.observer.attempts) return false;
    await this.#crashes.begin(task, found, false);
    return true;
  }

  /**
   * Ends the company of tasks that a run has taken along. If the run did not commit, they run again, in
   * smaller company if it failed.
   */
  async #disband(along: readonly Task[], result: AttemptResult): Promise<void> {
    const others = result.outcome === "committed" ? result.others : [];
    const handled = new Set(others.map(({ cell }) => cell));
    const half = isOfOneChange(result) ? (along.length + 1) >> 1 : undefined;
    await Promise.all(
      along.map(async (each) => {
        if (handled.has(each.cell)) {
          this.#crashes.forget(each);
          return;
        }
        if (half !== undefined) each.company = half;
        await this.#crashes.end(each);
        await this.#retract(each);
      }),
    );
  }

  async #end(
    task: Task,
    result: AttemptResult,
    durationMs: number,
    along: readonly Task[],
    giveUp: GiveUp,
  ): Promise<void> {
    if (result.outcome === "committed" || result.outcome === "clean") this.#crashes.forget(task);
    else await this.#crashes.end(task);
    switch (result.outcome) {
      case "committed":
        this.#committed(task, result, durationMs, along);
        return;
      case "clean":
        this.#emit(task, "clean", durationMs, undefined);
        this.#board.done(task, result.start, result.settling);
        return;
      case "left":
        this.#board.done(task, Number.POSITIVE_INFINITY);
        return;
      case "suspended":
        await this.#suspend(task, result.waitMs);
        return;
      case "failed":
        if (along.length > 0 && isOfOneChange(result))
          await this.#failedTogether(task, result, durationMs, along);
        else await this.#failed(task, result, durationMs, giveUp);
    }
  }

  #committed(
    task: Task,
    result: Extract<AttemptResult, { outcome: "committed" }>,
    durationMs: number,
    along: readonly Task[],
  ): void {
    const changedAt = result.changedAt === 0 ? task.timestamp : result.changedAt;
    const delayMs = Math.max(0, result.commitTimestamp - changedAt) / 1_000;
    this.#emit(task, "committed", durationMs, undefined, { delayMs, changes: 1 + result.others.length });
    task.conflicts = 0;
    task.setbacks = 0;
    this.#allowMore(task.observer);
    for (const each of [task, ...along]) {
      each.chain = result.notifiedItself(each) ? each.chain + 1 : 0;
      each.company = Number.POSITIVE_INFINITY;
    }
    this.#board.done(task, result.start, result.settling);
    for (const { registered, cell } of result.others) {
      this.#board.handledBeside(registered.name, cell, result.start);
    }
  }

  /**
   * Counts a long run in its hint while it runs, and records its session, so that no other process
   * takes the hint on.
   */
  async #announce(task: Task): Promise<void> {
    const state = task.state ?? freshState;
    const announced: HintState = {
      ...state,
      attempts: state.attempts + 1,
      notBefore: 0,
      runner: this.#sessions.session,
    };
    this.#announced.add(task);
    try {
      await writeHintState(this.#registry.context.store, task.hint, task.timestamp, announced);
    } catch (error) {
      this.#report("announcing a long run", error);
    }
  }

  /** Restores the hint of a long run that ended without counting as an attempt. */
  async #retract(task: Task): Promise<void> {
    if (!this.#announced.has(task)) return;
    await writeHintState(this.#registry.context.store, task.hint, task.timestamp, task.state ?? freshState);
  }

  /** Raises the size of an observer's batches again, step by step. */
  #allowMore({ name, batch = 1 }: Observer): void {
    const size = this.#sizes.get(name);
    if (size === undefined) return;
    const next = Math.max(size + 1, size * 1.05);
    if (next < batch) this.#sizes.set(name, next);
    else this.#sizes.delete(name);
  }

  /**
   * A run of several changes has failed. Which one is to blame is not known, so it counts for none of
   * them: they run again at once, in smaller company.
   */
  async #failedTogether(
    task: Task,
    { kind, error }: Failed,
    durationMs: number,
    along: readonly Task[],
  ): Promise<void> {
    const changes = 1 + along.length;
    this.#emit(task, kind === "timeout" ? kind : "failed", durationMs, error, { changes, attempts: 0 });
    await this.#retract(task);
    task.company = (along.length + 1) >> 1;
    if (kind === "timeout" || codeOf(error) === "LIMIT_EXCEEDED")
      this.#sizes.set(task.observer.name, task.company);
    this.#board.postpone(task, 0, true);
  }

  async #failed(task: Task, result: Failed, durationMs: number, giveUp: GiveUp): Promise<void> {
    const { kind, error, start } = result;
    switch (kind) {
      case "stopped":
        await this.#retract(task);
        this.#board.postpone(task, 0, true);
        return;
      case "conflict":
        task.conflicts++;
        task.setbacks = 0;
        this.#emit(task, "conflict", durationMs, error);
        if (task.conflicts >= maxConflicts) {
          await this.#countFailure(task, start, error, durationMs, giveUp);
          return;
        }
        await this.#retract(task);
        this.#retryLater(task, conflictBackoff, task.conflicts, lostOn(error));
        return;
      case "setback":
        this.#emit(task, "failed", durationMs, error);
        await this.#retract(task);
        this.#retryLater(task, setbackBackoff, ++task.setbacks);
        return;
      case "endless":
        await this.#park(task, start ?? task.timestamp, task.observer.attempts, error, durationMs, giveUp);
        return;
      case "failed":
      case "timeout":
        this.#emit(task, kind, durationMs, error);
        await this.#countFailure(task, start, error, durationMs, giveUp);
    }
  }

  /** Delays a changed cell that was parked because it ended processes. */
  async #suspend(task: Task, waitMs: number): Promise<void> {
    const state = task.state ?? freshState;
    task.state = { ...state, notBefore: this.#environment.now() + waitMs };
    await writeHintState(this.#registry.context.store, task.hint, task.timestamp, task.state);
    this.#board.postpone(task, waitMs, false);
  }

  #retryLater(task: Task, backoff: Backoff, attempt: number, row?: string): void {
    this.#board.postpone(task, backoffDelay(this.#environment, backoff, attempt), true, row);
  }

  /** Writes the attempt and the wait into the hint. After the last attempt, parks the change. */
  async #countFailure(
    task: Task,
    start: number | undefined,
    error: unknown,
    durationMs: number,
    giveUp: GiveUp,
  ): Promise<void> {
    const { observer } = task;
    const state = task.state ?? freshState;
    const attempts = state.attempts + 1;
    if (attempts >= observer.attempts) {
      await this.#park(task, start ?? task.timestamp, attempts, error, durationMs, giveUp);
      return;
    }
    const waitMs = backoffDelay(this.#environment, observer.backoff, attempts);
    const failed: HintState = {
      ...state,
      attempts,
      notBefore: this.#environment.now() + waitMs,
      error: shortFailure(error),
      runner: undefined,
    };
    task.state = failed;
    task.conflicts = 0;
    task.setbacks = 0;
    await writeHintState(this.#registry.context.store, task.hint, task.timestamp, failed);
    this.#board.postpone(task, waitMs, false);
  }

  async #park(
    task: Task,
    start: number,
    attempts: number,
    error: unknown,
    durationMs: number,
    { ofWorker }: GiveUp,
    crashes?: number,
  ): Promise<void> {
    if (!(await park(this.#registry, task, start, attempts, error, crashes, ofWorker))) {
      // This run does not count as an attempt, because another version of the observer is
      // registered.
      await this.#retract(task);
      this.#board.done(task, Number.POSITIVE_INFINITY);
      return;
    }
    this.#emit(task, "parked", durationMs, error, { attempts });
    this.#board.done(task, start);
  }

  #emit(task: Task, outcome: RunOutcome, durationMs: number, error: unknown, more: RunFigures = {}): void {
    const { events } = this.#registry.context;
    if (!events.hasListeners("run")) return;
    const observer = task.observer.name;
    const cause = { observer, cell: task.cell, commitTimestamp: task.timestamp };
    const used = (task.state?.attempts ?? 0) + (outcome === "failed" || outcome === "timeout" ? 1 : 0);
    const { delayMs, changes = 1, attempts = used } = more;
    events.emit("run", { observer, outcome, durationMs, delayMs, changes, attempts, error, cause });
  }

  #report(doing: string, error: unknown): void {
    this.#registry.context.events.emit("backgroundFailure", { doing, error });
  }
}

/**
 * Whether a run of several changes may handle the task's. A change whose run has failed, or that has seen
 * several processes end, runs alone.
 */
function mayJoin({ state = freshState }: Task): boolean {
  const { attempts, crashes = 0, runner } = state;
  return attempts <= crashes && crashes < crashesToRunAlone && runner === undefined;
}

/** Errors that end a run without using up an attempt, although one change may be the cause. */
const causedByOne: ReadonlySet<unknown> = new Set<ErrorCode>(["NEWER_VALUE", "LOAD"]);

/** Whether one of the changes of a run may be why it failed. */
function isOfOneChange(result: AttemptResult): result is Failed {
  if (result.outcome !== "failed") return false;
  const { kind, error } = result;
  return kind === "failed" || kind === "timeout" || (kind === "setback" && causedByOne.has(codeOf(error)));
}

function codeOf(error: unknown): ErrorCode | undefined {
  return error instanceof PercolatorError ? error.code : undefined;
}

/**
 * Whether a hint whose attempts are used up must still run alone. Processes may have ended while it
 * ran beside the hint that ended them, or only waited. If the observer has so few attempts that no
 * run is alone, the hint is parked without it.
 */
function owesRunAlone({ observer }: Task, { record }: Crashes): boolean {
  return observer.attempts > crashesToRunAlone && record.alone !== true;
}

/**
 * The row on which a run conflicted. It may be another row than the observed one. Undefined if it
 * is not a single row.
 */
function lostOn(error: unknown): string | undefined {
  const cell = error instanceof ConflictError ? conflictCell(error) : undefined;
  return cell && rowKey(cell.table, cell.row);
}
