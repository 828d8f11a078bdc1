import { type Environment, throwIfAborted } from "../../environment/index.js";
import { ClosedError, InvalidArgumentError, ObserverError } from "../../errors/index.js";
import { describeValue } from "../../schema/index.js";
import { isRemote } from "../../store/index.js";
import { bucketOf } from "../hint/hint.js";
import { isObserver, type Observer } from "../observer.js";
import { TaskBoard } from "../queue/task-board.js";
import type { Registry } from "../registry/registry.js";
import { Runner } from "../run/runner.js";
import { BucketAssignment } from "../scan/bucket-assignment.js";
import { Claims } from "../scan/claims.js";
import { takeOwnHints } from "../scan/own-hints.js";
import type { Sessions } from "../session/sessions.js";
import { BusyReport } from "./busy-report.js";
import { AdaptiveConcurrency, type ConcurrencyLimit, fixedConcurrency } from "./concurrency.js";
import { type DrainOptions, type EndingWork, type IdleOptions, untilIdle, whileWaiting } from "./idle.js";
import { surveyHints } from "./survey.js";
import { type StopOptions, Worker, type WorkerHost } from "./worker.js";

/** The options of `db.work`. All are optional. */
export interface WorkOptions {
  /** The observers to run, by name or as objects: any of those given to `open`. Default: all. */
  readonly observers?: readonly (Observer | string)[] | undefined;
  /**
   * The most runs at the same time, from 1 to 10,000. Default: 64, adapted for each observer. The
   * number shrinks, down to 8, while more than a tenth of the observer's runs conflict. In memory
   * and in a folder it grows, up to 512, while hardly any runs conflict, since waiting commits share
   * a flush.
   */
  readonly concurrency?: number | undefined;
  /** Stops the worker when it is aborted, like `stop`. */
  readonly signal?: AbortSignal | undefined;
}

export interface PoolOptions {
  readonly registry: Registry;
  readonly sessions: Sessions;
  /** The observers that this process hosts. They are registered. */
  readonly observers: readonly Observer[];
  /**
   * The most changes of one observer that wait in memory. A later scan finds the others. Default:
   * 1,024. In a cluster, a process claims its waiting changes, and no other process handles those.
   * The default in a cluster is therefore four for each concurrent run, and at most 256. Of a batch
   * observer, at least two batches wait, so that the next one is ready when a run ends.
   */
  readonly queueLimit?: number | undefined;
  /** The environment for the workers' scans and attempts. Default: the registry's environment. */
  readonly environment?: Environment | undefined;
}

const maxConcurrency = 10_000;
const defaultQueueLimit = 1_024;
const maxClaimed = 256;
/**
 * The number of claims per concurrent run. It is bounded so that a process that has just started
 * finds unclaimed work.
 */
const claimedForEachRun = 4;

/**
 * The workers of one open database, and what they share: the claims, the queues and the session.
 */
export class WorkerPool implements WorkerHost, EndingWork {
  readonly registry: Registry;
  readonly sessions: Sessions;
  readonly environment: Environment;
  readonly assignment: BucketAssignment;
  readonly board: TaskBoard;
  readonly runner: Runner;
  /** The rows that this process has claimed. Undefined without a cluster service. */
  readonly claims: Claims | undefined;
  /** Tells the cluster whether runs are in progress in this process. Undefined without a cluster. */
  readonly busy: BusyReport | undefined;
  #hosted: readonly Observer[];
  readonly #workers = new Map<Worker, readonly Observer[]>();
  /** Workers that take on nothing more and have not ended. */
  readonly #leaving = new Set<Worker>();
  readonly #worked = new Map<string, Observer>();
  readonly #takeNoMore: () => void;
  readonly #closing = new AbortController();
  /** Number of running drains, and the workers that serve all of them. */
  #drains = 0;
  readonly #drainWorkers: Worker[] = [];

  constructor(options: PoolOptions) {
    this.registry = options.registry;
    this.sessions = options.sessions;
    this.assignment = new BucketAssignment(options.sessions);
    this.#hosted = options.observers;
    const { environment = options.registry.context.environment } = options;
    this.environment = environment;
    const { cluster } = options.sessions;
    const onFailure = (doing: string, error: unknown) => this.#report(doing, error);
    this.claims = cluster && new Claims(cluster);
    this.busy = cluster && new BusyReport({ cluster, environment, onFailure });
    this.board = new TaskBoard({
      environment,
      queueLimit: (observer) =>
        options.queueLimit ??
        Math.max(
          cluster === undefined ? defaultQueueLimit : this.#maxClaimed(observer),
          2 * (this.#worked.get(observer)?.batch ?? 0),
        ),
      isWorked: (observer) => this.#worked.has(observer),
      turns: options.registry.context.turns,
      onForget: ({ isClaimed, hint }) => {
        if (isClaimed) this.claims?.give(hint);
      },
    });
    this.runner = new Runner(this.registry, this.sessions, this.board);
    if (this.claims === undefined) {
      // This process may have taken tasks on before it knew which other sessions run the observer.
      // If another session owns their buckets, both would run the tasks, and one of each two runs
      // would be wasted.
      this.assignment.onMoved(() =>
        this.board.letGo(({ observer, cell }) => this.assignment.owns(observer, bucketOf(cell.row))),
      );
    }
    this.#takeNoMore = takeOwnHints({
      registry: this.registry,
      board: this.board,
      assignment: this.assignment,
      claims: this.claims,
      worked: this.#worked,
    });
  }

  /**
   * Starts a worker.
   *
   * @throws ClosedError if the database was closed.
   */
  work(options: WorkOptions = {}): Worker {
    this.#assertOpen();
    const { concurrency, signal } = options;
    if (
      concurrency !== undefined &&
      !(Number.isInteger(concurrency) && concurrency >= 1 && concurrency <= maxConcurrency)
    ) {
      throw new InvalidArgumentError(
        `\`concurrency\` must be a whole number from 1 to ${maxConcurrency}, not ${describeValue(concurrency)}.`,
      );
    }
    const observers = options.observers?.map((each) => this.#find(each)) ?? this.#hosted;
    const worker = new Worker(this, observers, () => this.#limit(concurrency));
    this.#workers.set(worker, observers);
    this.#listWorked();
    worker.start();
    const onAbort = () => this.#stopInBackground(worker);
    if (signal?.aborted) onAbort();
    else signal?.addEventListener("abort", onAbort, { once: true, signal: worker.stopping });
    return worker;
  }

  #limit(concurrency: number | undefined): ConcurrencyLimit {
    if (concurrency !== undefined) return fixedConcurrency(concurrency);
    return new AdaptiveConcurrency(!isRemote(this.registry.context.store));
  }

  #stopInBackground(worker: Worker): void {
    worker.stop().catch((error: unknown) => this.#report("stopping a worker", error));
  }

  #report(doing: string, error: unknown): void {
    this.registry.context.events.emit("backgroundFailure", { doing, error });
  }

  #find(wanted: Observer | string): Observer {
    const name = isObserver(wanted) ? wanted.name : wanted;
    const found = this.#hosted.find((observer) => observer.name === name);
    if (found !== undefined) return found;
    throw new ObserverError(
      `This process does not have the observer ${describeValue(name)}. Give it to \`open\` in \`observers\`.`,
    );
  }

  /** Removes an unregistered observer. Workers that start later do not run it. */
  forget(name: string): void {
    this.#hosted = this.#hosted.filter((observer) => observer.name !== name);
  }

  /** Number of runs in progress of all workers of this process. */
  get running(): number {
    let running = 0;
    for (const worker of this.#workers.keys()) running += worker.running;
    return running;
  }

  /** How many changes of an observer may wait in this process with a claim. */
  #maxClaimed(name: string): number {
    let runs = 0;
    for (const [worker, observers] of this.#workers)
      if (observers.some((each) => each.name === name)) runs += worker.maxRunsOf(name);
    const maxRuns = Math.min(runs, this.#worked.get(name)?.concurrency ?? runs);
    return Math.min(maxClaimed, Math.max(1, maxRuns) * claimedForEachRun);
  }

  /** The observers that workers of this process run, by name. */
  get worked(): ReadonlyMap<string, Observer> {
    return this.#worked;
  }

  #listWorked(): void {
    this.#worked.clear();
    for (const observers of this.#workers.values()) {
      for (const observer of observers) this.#worked.set(observer.name, observer);
    }
  }

  /** @internal */
  leave(worker: Worker): void {
    const left = this.#workers.get(worker) ?? [];
    this.#workers.delete(worker);
    this.#leaving.add(worker);
    this.#listWorked();
    this.#workForDrains();
    for (const { name } of left) if (!this.#worked.has(name)) this.board.drop(name);
    this.board.wake();
  }

  /** @internal */
  ended(worker: Worker): void {
    this.#leaving.delete(worker);
  }

  /** @internal */
  async announce(): Promise<void> {
    const underWay = this.#hosted.filter(({ name }) => this.board.running(name) > 0);
    const run = [...this.#worked.values(), ...underWay];
    const hosted = run.map(({ name, version }) => [name, version] as const);
    await this.sessions.host(Object.fromEntries(hosted));
    this.assignment.renew();
  }

  /** Whether the store holds more changes than fitted into the queues. */
  get hasMore(): boolean {
    return [...this.#workers.keys()].some((worker) => worker.hasMore);
  }

  /** Lets all workers look for hints now. */
  async scan(): Promise<void> {
    await Promise.all([...this.#workers.keys()].map((worker) => worker.scan()));
  }

  /**
   * Resolves when nothing is left to do, in this or another process.
   *
   * @throws ObserverError if changes wait for observers that no live process runs, since the wait
   * would never end.
   */
  async idle(options: IdleOptions = {}): Promise<void> {
    await untilIdle(this, { ...options, closing: this.#closing.signal, refuseOrphans: true });
  }

  /**
   * Like {@link idle}, for a worker that has begun. Considers only observers that live workers run.
   * @internal
   */
  async idleOfWorkers(options: IdleOptions, after: Promise<void>): Promise<void> {
    await untilIdle(this, { ...options, after, closing: this.#closing.signal, refuseOrphans: false });
  }

  /**
   * Works until nothing is left to do. It starts a worker for the hosted observers that no worker
   * of this process runs.
   *
   * @throws ObserverError if changes wait for observers that no live process runs, since the wait
   * would never end.
   */
  async drain(options: DrainOptions = {}): Promise<void> {
    this.#assertOpen();
    throwIfAborted(options.signal, "Waiting until nothing is due");
    const { signal } = this.#closing;
    const survey = await whileWaiting([options.signal, signal], (either) => surveyHints(this, either));
    const isNeeded = survey.busy || survey.orphans.size > 0 || !this.board.isQuiet;
    if (!isNeeded && survey.isSnapshot) return;
    this.#assertOpen();
    this.#drains++;
    let isDone = false;
    try {
      this.#workForDrains();
      await untilIdle(this, { ...options, closing: signal, refuseOrphans: true });
      isDone = true;
    } finally {
      const ended = this.#endDrain();
      // A drain that is aborted or fails does not wait for its workers to stop. Closing the database does.
      if (!options.signal?.aborted && (isDone || signal.aborted)) await ended;
      else ended.catch(() => undefined);
    }
  }

  /**
   * Starts workers for drains. Concurrent drains share them until the last one is done. Each drain
   * adds a worker for the observers that no worker ran when the drain began.
   */
  #workForDrains(): void {
    if (this.#drains === 0 || this.#closing.signal.aborted) return;
    const missing = this.#hosted.filter((observer) => !this.#worked.has(observer.name));
    if (missing.length > 0) this.#drainWorkers.push(this.work({ observers: missing }));
  }

  async #endDrain(): Promise<void> {
    if (--this.#drains > 0) return;
    await Promise.all(this.#drainWorkers.splice(0).map((worker) => worker.stop()));
  }

  #assertOpen(): void {
    if (!this.#closing.signal.aborted) return;
    throw new ClosedError("The database was closed, so it runs no more observers. Open it again.");
  }

  /**
   * Stops all workers, and waits for those that are already stopping. A repeated call has no
   * further effect.
   */
  async close(options: StopOptions = {}): Promise<void> {
    if (!this.#closing.signal.aborted) {
      this.#closing.abort(new ClosedError("The database was closed while a caller waited for it."));
    }
    this.#takeNoMore();
    const workers = [...this.#workers.keys(), ...this.#leaving];
    const stopped = await Promise.allSettled(workers.map((worker) => worker.stop(options)));
    this.busy?.close();
    for (const each of stopped) if (each.status === "rejected") throw each.reason;
  }
}
