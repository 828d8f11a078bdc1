import {
  backoffDelay,
  type Environment,
  sleep,
  type Timer,
  throwIfAborted,
} from "../../environment/index.js";
import { checkOptionNames, InvalidArgumentError, type OptionNames } from "../../errors/index.js";
import { describeValue } from "../../schema/index.js";
import { GiveUp } from "../change.js";
import { StoppedError } from "../hint/failure.js";
import type { Observer } from "../observer.js";
import type { Task } from "../queue/task.js";
import type { TaskBoard } from "../queue/task-board.js";
import { isCurrent, outdatedText } from "../registry/registered.js";
import type { Registry } from "../registry/registry.js";
import type { Runner } from "../run/runner.js";
import type { BucketAssignment } from "../scan/bucket-assignment.js";
import { BucketScanner } from "../scan/bucket-scanner.js";
import { ClaimingScanner } from "../scan/claiming-scanner.js";
import type { Claims } from "../scan/claims.js";
import { type CommitWatcher, watchCommits } from "../scan/commit-watcher.js";
import { type HintScanner, ScanLoop } from "../scan/scan-loop.js";
import type { Sessions } from "../session/sessions.js";
import type { BusyReport } from "./busy-report.js";
import type { ConcurrencyLimit } from "./concurrency.js";
import type { IdleOptions } from "./idle.js";

/** The options of {@link Worker.stop}. */
export interface StopOptions {
  /**
   * Milliseconds after which the worker gives up its runs. The changes of these runs are run again
   * later, or by another process. Default: never.
   */
  readonly timeoutMs?: number | undefined;
}

/** Whether a worker is able to work, as {@link Worker.readiness} returns it. */
export interface WorkerReadiness {
  /** Whether it has begun, is not stopping, and may run at least one of its observers. */
  readonly isReady: boolean;
  /**
   * Whether it may run none of its observers: each was unregistered, or is registered in a newer
   * version or for another column. Only a newer program helps. The command `percolator worker` then
   * ends with exit code 3.
   */
  readonly isObsolete: boolean;
  /** What it cannot do and why, in words. Empty if it runs all of its observers. */
  readonly reasons: readonly string[];
}

/** What the workers of one process share. @internal */
export interface WorkerHost {
  readonly registry: Registry;
  readonly sessions: Sessions;
  readonly environment: Environment;
  readonly assignment: BucketAssignment;
  readonly board: TaskBoard;
  readonly runner: Runner;
  /** The rows that this process has claimed. Undefined without a cluster service. */
  readonly claims: Claims | undefined;
  /** Tells the cluster whether this process has runs in progress. Undefined without a cluster. */
  readonly busy: BusyReport | undefined;
  /** Number of runs in progress of all workers of this process. */
  readonly running: number;
  /**
   * Tells the other processes which observers this process runs, including those of workers that
   * are stopping.
   */
  announce(): Promise<void>;
  /** Removes a worker that is stopping, so that it takes on nothing more. */
  leave(worker: Worker): void;
  /** Removes a stopping worker after its last run has ended. */
  ended(worker: Worker): void;
  /**
   * Waits for `after`. Then resolves when the observers of live workers have nothing left to do.
   */
  idleOfWorkers(options: IdleOptions, after: Promise<void>): Promise<void>;
}

/** An observer that a worker runs. */
interface Lane {
  readonly observer: Observer;
  readonly concurrency: ConcurrencyLimit;
  /** Number of its runs in progress in this worker. */
  running: number;
  /**
   * The worker's turn in which this observer last began a run. Observers of equal priority take
   * turns.
   */
  servedAt: number;
}

/** A run in progress of a worker. */
interface WorkerRun {
  readonly task: Task;
  readonly giveUp: GiveUp;
  readonly over: Promise<void>;
}

const starting = { initialMs: 50, maximumMs: 5_000 };

/**
 * Runs observers until it is stopped. It handles changes of this process as soon as they are
 * committed, and changes of other processes when a scan finds them. A process with a worker does
 * not end by itself.
 *
 * @example
 * await using worker = db.work();
 * await worker.idle();
 */
export class Worker {
  readonly #host: WorkerHost;
  /** Sorted by priority, the highest first. */
  readonly #lanes: readonly Lane[];
  /** A task may be in two: its next run can begin before its last one has left. */
  readonly #runs = new Set<WorkerRun>();
  readonly #stopping = new AbortController();
  /** Aborted when it gives up its runs. Ends what a run waits for before and after the observer's function. */
  readonly #givingUp = new AbortController();
  readonly #scanLoop: ScanLoop;
  #watch: CommitWatcher | undefined;
  /** Stops listening to the board for ready tasks. */
  #stopListening: (() => void) | undefined;
  #started: Promise<void> = Promise.resolve();
  #isReady = false;
  #turn = 0;
  #stopped: Promise<void> | undefined;

  /** @internal */
  constructor(host: WorkerHost, observers: readonly Observer[], concurrency: () => ConcurrencyLimit) {
    this.#host = host;
    this.#lanes = [...observers]
      .sort((a, b) => b.priority - a.priority)
      .map((observer) => ({ observer, concurrency: concurrency(), running: 0, servedAt: 0 }));
    const scanners = observers.map((observer) => this.#scannerOf(observer));
    const { sessions, claims, registry, environment } = host;
    const searching = () => (claims === undefined ? 1 : sessions.size);
    this.#scanLoop = new ScanLoop(registry, environment, scanners, searching);
  }

  /**
   * If the cluster has claims, each process may find all hints. Otherwise the processes divide the
   * buckets among themselves.
   */
  #scannerOf(observer: Observer): HintScanner {
    const { sessions, assignment, board, registry, claims, environment } = this.#host;
    const { store } = registry.context;
    const { signal } = this.#stopping;
    const options = { store, environment, sessions, board, observer, owner: this, signal };
    return claims === undefined
      ? new BucketScanner({ ...options, assignment })
      : new ClaimingScanner({ ...options, claims });
  }

  /** Names of the observers that it runs. */
  get observers(): readonly string[] {
    return this.#lanes.map(({ observer }) => observer.name);
  }

  /**
   * Whether it is able to work, and if not, why. It reads the registry: one read of the store, or
   * on Bigtable a view that is at most a second old.
   *
   * @throws StoreError if the store does not answer.
   */
  async readiness(): Promise<WorkerReadiness> {
    const { observers } = await this.#host.registry.fresh();
    const outdated = this.#lanes.flatMap(({ observer }) => {
      const registered = observers.get(observer.name);
      return isCurrent(registered, observer) ? [] : [outdatedText(observer, registered)];
    });
    const isObsolete = outdated.length > 0 && outdated.length === this.#lanes.length;
    const isStopping = this.#stopping.signal.aborted;
    const reasons = [...outdated];
    if (isStopping) reasons.unshift("The worker is stopping, or has stopped.");
    else if (!this.#isReady) {
      reasons.unshift(
        "The worker has not started: it waits until the store and the other processes know its session.",
      );
    }
    return { isReady: this.#isReady && !isStopping && !isObsolete, isObsolete, reasons };
  }

  /** Number of runs in progress. */
  get running(): number {
    return this.#runs.size;
  }

  /** The current limit for concurrent runs of one observer. @internal */
  maxRunsOf(name: string): number {
    return this.#lanes.find(({ observer }) => observer.name === name)?.concurrency.limit ?? 0;
  }

  /**
   * Whether the worker has no room for another run of any observer: it already has as many runs as
   * the highest limit among its observers.
   */
  get #isFull(): boolean {
    return this.#lanes.every(({ concurrency }) => this.#runs.size >= concurrency.limit);
  }

  /** Aborted when it begins to stop. @internal */
  get stopping(): AbortSignal {
    return this.#stopping.signal;
  }

  /** Begins the worker's work. Called once, when the worker is in the pool. @internal */
  start(): void {
    this.#started = this.#start();
  }

  /** Tells the other processes first, so that they share the work from the start. */
  async #start(): Promise<void> {
    const { environment, events } = this.#host.registry.context;
    for (let attempt = 1; !this.#stopping.signal.aborted; attempt++) {
      try {
        await this.#host.announce();
        await this.#host.sessions.settleDoubts(this.#stopping.signal);
        this.#isReady = true;
        this.#watch = this.#watchOthers();
        this.#scanLoop.wake();
        this.#stopListening = this.#host.board.onReady(() => this.#beginRuns());
        this.#beginRuns();
        return;
      } catch (error) {
        if (this.#stopping.signal.aborted) return;
        events.emit("backgroundFailure", { doing: "starting a worker", error });
        const waitMs = backoffDelay(environment, starting, attempt);
        await sleep(environment, waitMs, this.#stopping.signal).catch(() => undefined);
      }
    }
  }

  /**
   * Detects commits of other processes within milliseconds. Commits of this process wake the worker
   * at once.
   */
  #watchOthers(): CommitWatcher | undefined {
    const { registry, environment } = this.#host;
    return watchCommits(registry.context.store, {
      environment,
      isQuiet: () => this.#host.running === 0,
      onMoved: () => this.#scanLoop.wakeSoon(),
    });
  }

  /** Begins runs until none is ready, or the worker's concurrency is used up. */
  #beginRuns(): void {
    if (this.#stopping.signal.aborted) return;
    while (!this.#isFull && !this.#host.board.isCongested) {
      const lane = this.#next();
      const task = lane && this.#host.board.take(lane.observer.name);
      if (task === undefined) return;
      this.#begin(task, lane!);
    }
  }

  /**
   * The next observer to run: the one with the highest priority. Observers with the same priority
   * take turns.
   */
  #next(): Lane | undefined {
    const { board } = this.#host;
    let best: Lane | undefined;
    for (const lane of this.#lanes) {
      const { observer } = lane;
      if (best !== undefined && observer.priority < best.observer.priority) break;
      if (board.queued(observer.name) === 0 || lane.running >= lane.concurrency.limit) continue;
      if (this.#hasAllRuns(observer)) continue;
      if (best === undefined || lane.servedAt < best.servedAt) best = lane;
    }
    if (best !== undefined) best.servedAt = ++this.#turn;
    return best;
  }

  /** Whether as many runs as the observer allows are in progress: its own, and those of its {@link rowObservers}. */
  #hasAllRuns({ name, concurrency, group }: Observer): boolean {
    if (concurrency === Number.POSITIVE_INFINITY) return false;
    const { board } = this.#host;
    if (group === undefined) return board.running(name) >= concurrency;
    return group.reduce((runs, each) => runs + board.running(each.name), 0) >= concurrency;
  }

  #begin(task: Task, lane: Lane): void {
    const giveUp = new GiveUp(this.#givingUp.signal);
    const conflictsBefore = task.conflicts;
    lane.running++;
    const ended = (hasRun: boolean) => {
      const isFull = this.#isFull || lane.running >= lane.concurrency.limit;
      if (hasRun) lane.concurrency.ended(isFull, task.conflicts > conflictsBefore);
      lane.running--;
      this.#runs.delete(run);
      this.#host.board.wake();
      this.#host.busy?.end();
      if (this.#wantsMore(task.observer)) this.#scanLoop.wake();
    };
    const run = { task, giveUp, over: this.#run(task, giveUp).then(ended) };
    this.#runs.add(run);
  }

  /** Runs a task. If this process was quiet, tells the cluster first. */
  #run(task: Task, giveUp: GiveUp): Promise<boolean> {
    const { runner, busy } = this.#host;
    const told = busy?.begin();
    return told instanceof Promise ? told.then(() => runner.run(task, giveUp)) : runner.run(task, giveUp);
  }

  /** Whether the queue has room again for changes that did not fit before. */
  #wantsMore({ name }: Observer): boolean {
    const { board } = this.#host;
    return board.hasRoom(name) && (board.hasOverflowed(name) || this.#scanLoop.isUnfinished(name));
  }

  /** Whether the store holds more changes than fitted into the queues. @internal */
  get hasMore(): boolean {
    return this.observers.some((name) => this.#scanLoop.isUnfinished(name));
  }

  /** Looks for hints now. @internal */
  async scan(): Promise<void> {
    const isBeginning = !this.#isReady;
    await this.#started;
    if (this.#stopping.signal.aborted) return;
    // A worker that has just begun scans by itself.
    await (isBeginning ? this.#scanLoop.ended() : this.#scanLoop.scanned());
  }

  /**
   * Resolves when no change is due for an observer of any live worker, in this or another process.
   * This includes every change committed before the call, and all changes that their runs cause.
   * The call waits for changes that will be retried, but not for parked ones.
   *
   * @throws AbortedError if `signal` is aborted.
   */
  async idle(options: IdleOptions = {}): Promise<void> {
    throwIfAborted(options.signal, "Waiting until a worker is idle");
    await this.#host.idleOfWorkers(options, this.#started);
  }

  /**
   * Begins no new runs, and resolves when those in progress have ended. A repeated call has no
   * further effect.
   */
  async stop(options: StopOptions = {}): Promise<void> {
    checkStop(options);
    this.#stopped ??= this.#stop();
    const deadline = this.#giveUpAfter(options.timeoutMs);
    await this.#stopped.finally(() => deadline?.cancel());
  }

  async #stop(): Promise<void> {
    this.#stopping.abort();
    this.#host.leave(this);
    try {
      await this.#scanLoop.stop();
      await this.#started;
      this.#watch?.stop();
      this.#stopListening?.();
      while (this.#runs.size > 0) await Promise.all([...this.#runs].map((run) => run.over));
      await this.#host.announce();
    } finally {
      this.#host.ended(this);
    }
  }

  #giveUpAfter(timeoutMs: number | undefined): Timer | undefined {
    if (timeoutMs === undefined) return undefined;
    return this.#host.registry.context.environment.setTimer(() => {
      for (const { task, giveUp } of this.#runs) {
        giveUp.giveUp(
          new StoppedError(
            `The run of "${task.observer.name}" was abandoned, because its worker was stopped.`,
          ),
        );
      }
      this.#givingUp.abort(new StoppedError("A run was abandoned, because its worker was stopped."));
    }, timeoutMs);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }
}

const stopNames: OptionNames<StopOptions> = { timeoutMs: true };

function checkStop(options: StopOptions): void {
  checkOptionNames("worker.stop", options, stopNames);
  const { timeoutMs } = options;
  if (timeoutMs === undefined || (Number.isFinite(timeoutMs) && timeoutMs >= 0)) return;
  throw new InvalidArgumentError(
    `\`timeoutMs\` of \`worker.stop\` must be a number of 0 or more, not ${describeValue(timeoutMs)}.`,
  );
}
