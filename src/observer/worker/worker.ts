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
import { outdatedText } from "../registry/registered.js";
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

/** What {@link Worker.stop} takes. */
export interface StopOptions {
  /**
   * Milliseconds after which runs under way are given up; they are run again elsewhere or later.
   * Default: never.
   */
  readonly timeoutMs?: number | undefined;
}

/** Whether a worker is able to work, as {@link Worker.readiness} tells. */
export interface WorkerReadiness {
  /** It has begun, is not stopping, and at least one of its observers is its to run. */
  readonly isReady: boolean;
  /**
   * None of its observers is its to run: each was unregistered, or is registered in a newer
   * version. Only a newer program helps; the command `percolator worker` ends with exit code 3.
   */
  readonly isObsolete: boolean;
  /** What it cannot do, and why, in words. Empty if it runs all of its observers. */
  readonly reasons: readonly string[];
}

/** What a worker shares with the others of its process. @internal */
export interface WorkerHost {
  readonly registry: Registry;
  readonly sessions: Sessions;
  readonly environment: Environment;
  readonly shares: BucketAssignment;
  readonly board: TaskBoard;
  readonly runner: Runner;
  /** The rows that this process works on, if a cluster's service knows of them. */
  readonly claims: Claims | undefined;
  /** Says there whether this process has runs in flight. */
  readonly busy: BusyReport | undefined;
  /** Runs under way, of all workers here. */
  readonly running: number;
  /**
   * Tells the other processes what is run here; what is still under way of a worker that stops,
   * too.
   */
  announce(): Promise<void>;
  /** A worker that stops takes nothing more on. */
  leave(worker: Worker): void;
  /** A worker that has left has ended. */
  ended(worker: Worker): void;
  /** Lets all workers begin as many runs as may be. */
  pump(): void;
  /** Resolves when nothing is left to do of what live workers run, once `after` has resolved. */
  idleOfWorkers(options: IdleOptions, after: Promise<void>): Promise<void>;
}

/** An observer that a worker runs. */
interface Lane {
  readonly observer: Observer;
  readonly width: ConcurrencyLimit;
  /** Its runs under way here. */
  running: number;
  /** The turn at which it was last served. */
  servedAt: number;
}

const starting = { initialMs: 50, maximumMs: 5_000 };

/**
 * Runs observers until it is stopped: those of changes that this process commits at once, those of
 * others when a scan finds them. A process in which a worker stands does not end by itself.
 *
 * @example await using worker = db.work(); await worker.idle();
 */
export class Worker {
  readonly #host: WorkerHost;
  /** By priority, the highest first. */
  readonly #lanes: readonly Lane[];
  readonly #runs = new Map<Task, { readonly giveUp: GiveUp; readonly over: Promise<void> }>();
  readonly #stopping = new AbortController();
  readonly #scanLoop: ScanLoop;
  #watch: CommitWatcher | undefined;
  #started: Promise<void> = Promise.resolve();
  #isReady = false;
  #turn = 0;
  #stopped: Promise<void> | undefined;

  /** @internal */
  constructor(host: WorkerHost, observers: readonly Observer[], width: () => ConcurrencyLimit) {
    this.#host = host;
    this.#lanes = [...observers]
      .sort((a, b) => b.priority - a.priority)
      .map((observer) => ({ observer, width: width(), running: 0, servedAt: 0 }));
    const scanners = observers.map((observer) => this.#scannerOf(observer));
    const { sessions, claims, registry, environment } = host;
    const searching = () => (claims === undefined ? 1 : sessions.size);
    this.#scanLoop = new ScanLoop(registry, environment, scanners, searching);
  }

  /**
   * With a cluster's claims each process may find all hints; without, they divide the buckets among
   * themselves.
   */
  #scannerOf(observer: Observer): HintScanner {
    const { sessions, shares, board, registry, claims, environment } = this.#host;
    const { store } = registry.context;
    const { signal } = this.#stopping;
    const options = { store, environment, sessions, board, observer, owner: this, signal };
    return claims === undefined
      ? new BucketScanner({ ...options, shares })
      : new ClaimingScanner({ ...options, claims });
  }

  /** Names of the observers that it runs. */
  get observers(): readonly string[] {
    return this.#lanes.map(({ observer }) => observer.name);
  }

  /**
   * Whether it is able to work, and if not, why. Reads the registry, which is one read in the store
   * or, on Bigtable, at most a second old.
   *
   * @throws StoreError if the store does not answer.
   */
  async readiness(): Promise<WorkerReadiness> {
    const { observers } = await this.#host.registry.fresh();
    const outdated = this.#lanes.flatMap(({ observer: { name, version } }) => {
      const registered = observers.get(name)?.record.version;
      return registered === version ? [] : [outdatedText(name, version, registered)];
    });
    const isObsolete = outdated.length > 0 && outdated.length === this.#lanes.length;
    const isStopping = this.#stopping.signal.aborted;
    const reasons = [...outdated];
    if (isStopping) reasons.unshift("The worker is stopping, or has stopped.");
    else if (!this.#isReady) {
      reasons.unshift(
        "The worker has not begun: it waits until the store and the other processes know of it.",
      );
    }
    return { isReady: this.#isReady && !isStopping && !isObsolete, isObsolete, reasons };
  }

  /** Runs under way. */
  get running(): number {
    return this.#runs.size;
  }

  /** How many of one observer there may be at a time, now. @internal */
  maxRunsOf(name: string): number {
    return this.#lanes.find(({ observer }) => observer.name === name)?.width.limit ?? 0;
  }

  /**
   * Whether there may be no more of all together: as many as of the observer that may have the
   * most.
   */
  get #isFull(): boolean {
    return this.#lanes.every(({ width }) => this.#runs.size >= width.limit);
  }

  /** Aborted when it is to stop. @internal */
  get stopping(): AbortSignal {
    return this.#stopping.signal;
  }

  /** Begins its work; once it is one of the pool's. @internal */
  start(): void {
    this.#started = this.#start();
  }

  /** Tells the other processes first, so that the work is shared out from the start. */
  async #start(): Promise<void> {
    const { environment, events } = this.#host.registry.context;
    for (let attempt = 1; !this.#stopping.signal.aborted; attempt++) {
      try {
        await this.#host.announce();
        await this.#host.sessions.settleDoubts(this.#stopping.signal);
        this.#isReady = true;
        this.#watch = this.#watchOthers();
        this.#scanLoop.wake();
        this.pump();
        return;
      } catch (error) {
        if (this.#stopping.signal.aborted) return;
        events.emit("backgroundFailure", { doing: "starting a worker", error });
        const waitMs = backoffDelay(environment, starting, attempt);
        await sleep(environment, waitMs, this.#stopping.signal).catch(() => undefined);
      }
    }
  }

  /** Its own commits wake it at once; those of other processes soon. */
  #watchOthers(): CommitWatcher | undefined {
    const { registry, environment } = this.#host;
    return watchCommits(registry.context.store, {
      environment,
      isQuiet: () => this.#host.running === 0,
      onMoved: () => this.#scanLoop.wakeSoon(),
    });
  }

  /** Begins as many runs as may be. @internal */
  pump(): void {
    if (!this.#isReady || this.#stopping.signal.aborted) return;
    while (!this.#isFull && !this.#host.board.isCongested) {
      const lane = this.#next();
      const task = lane && this.#host.board.take(lane.observer.name);
      if (task === undefined) return;
      this.#begin(task, lane!);
    }
  }

  /** The next one to serve: of the highest priority, and in turns where several have it. */
  #next(): Lane | undefined {
    const { board } = this.#host;
    let best: Lane | undefined;
    for (const lane of this.#lanes) {
      const { observer } = lane;
      if (best !== undefined && observer.priority < best.observer.priority) break;
      if (board.queued(observer.name) === 0 || lane.running >= lane.width.limit) continue;
      if (board.running(observer.name) >= observer.concurrency) continue;
      if (best === undefined || lane.servedAt < best.servedAt) best = lane;
    }
    if (best !== undefined) best.servedAt = ++this.#turn;
    return best;
  }

  #begin(task: Task, lane: Lane): void {
    const giveUp = new GiveUp();
    const conflictsBefore = task.conflicts;
    lane.running++;
    const over = this.#run(task, giveUp).then(() => {
      const isFull = this.#isFull || lane.running >= lane.width.limit;
      lane.width.ended(isFull, task.conflicts > conflictsBefore);
      lane.running--;
      this.#runs.delete(task);
      this.#host.pump();
      this.#host.busy?.end();
      if (this.#wantsMore(task.observer)) this.#scanLoop.wake();
    });
    this.#runs.set(task, { giveUp, over });
  }

  /** Others are told first, where this process was quiet. */
  #run(task: Task, giveUp: GiveUp): Promise<void> {
    const { runner, busy } = this.#host;
    const told = busy?.begin();
    return told instanceof Promise ? told.then(() => runner.run(task, giveUp)) : runner.run(task, giveUp);
  }

  /** Whether the queue has room again for what did not fit before. */
  #wantsMore({ name }: Observer): boolean {
    const { board } = this.#host;
    return board.hasRoom(name) && (board.hasOverflowed(name) || this.#scanLoop.isUnfinished(name));
  }

  /** Whether more stands in the store than fitted into the queues. @internal */
  get hasMore(): boolean {
    return this.observers.some((name) => this.#scanLoop.isUnfinished(name));
  }

  /** Looks for hints now. @internal */
  async scan(): Promise<void> {
    const isBeginning = !this.#isReady;
    await this.#started;
    if (this.#stopping.signal.aborted) return;
    // A worker that has just begun looks by itself.
    await (isBeginning ? this.#scanLoop.ended() : this.#scanLoop.scanned());
  }

  /**
   * Resolves when no change is left that an observer of a live worker, here or in another process,
   * is due on: everything committed before the call, and all that it caused. Waits for what is to
   * be tried again, not for what is parked.
   */
  async idle(options: IdleOptions = {}): Promise<void> {
    throwIfAborted(options.signal, "Waiting until a worker is idle");
    await this.#host.idleOfWorkers(options, this.#started);
  }

  /** Begins nothing new, and resolves when the runs under way are over. Harmless to repeat. */
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
      while (this.#runs.size > 0) await Promise.all([...this.#runs.values()].map((run) => run.over));
      await this.#host.announce();
    } finally {
      this.#host.ended(this);
    }
  }

  #giveUpAfter(timeoutMs: number | undefined): Timer | undefined {
    if (timeoutMs === undefined) return undefined;
    return this.#host.registry.context.environment.setTimer(() => {
      for (const [task, { giveUp }] of this.#runs) {
        giveUp.giveUp(
          new StoppedError(`The run of "${task.observer.name}" was given up: its worker was stopped.`),
        );
      }
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
