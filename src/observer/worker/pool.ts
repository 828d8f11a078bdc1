import { type Environment, throwIfAborted } from "../../environment/index.js";
import { ClosedError, InvalidArgumentError, ObserverError } from "../../errors/index.js";
import { describeValue } from "../../schema/index.js";
import { isRemote } from "../../store/index.js";
import type { Hint } from "../../transaction/index.js";
import { bucketOf } from "../hint/hint.js";
import { isObserver, type Observer } from "../observer.js";
import type { Task } from "../queue/task.js";
import { TaskBoard } from "../queue/task-board.js";
import type { Registry } from "../registry/registry.js";
import { Runner } from "../run/runner.js";
import { BucketAssignment } from "../scan/bucket-assignment.js";
import { Claims } from "../scan/claims.js";
import type { Sessions } from "../session/sessions.js";
import { BusyReport } from "./busy-report.js";
import { AdaptiveConcurrency, type ConcurrencyLimit, fixedConcurrency } from "./concurrency.js";
import { type DrainOptions, type EndingWork, type IdleOptions, untilIdle } from "./idle.js";
import { surveyHints } from "./survey.js";
import { type StopOptions, Worker, type WorkerHost } from "./worker.js";

/** What `db.work` takes. Everything has a default. */
export interface WorkOptions {
  /** Which of the observers given to `open`, by themselves or by name. Default: all. */
  readonly observers?: readonly (Observer | string)[] | undefined;
  /**
   * Runs at the same time. From 1 to 10,000; default: 64, of an observer down to 8 while more than
   * a tenth of its runs conflict, and on a store that commits in one batch up to 512 while hardly
   * any do. Commits that wait together share a flush.
   */
  readonly concurrency?: number | undefined;
  /** Stops the worker when aborted, as `stop` does. */
  readonly signal?: AbortSignal | undefined;
}

export interface PoolOptions {
  readonly registry: Registry;
  readonly sessions: Sessions;
  /** The observers that this process hosts, registered. */
  readonly observers: readonly Observer[];
  /**
   * The most changes of one observer that wait in memory; more are left to the scan. Default:
   * 1,024; in a cluster, where what waits is claimed and nobody else does it, four for each run
   * that there may be at a time, and 256 at the most.
   */
  readonly queueLimit?: number | undefined;
  /**
   * What workers take the time between their scans and attempts from. Default: the registry's
   * environment.
   */
  readonly environment?: Environment | undefined;
}

const maxConcurrency = 10_000;
const defaultQueueLimit = 1_024;
const maxClaimed = 256;
/**
 * So that a process that has just begun, and waits for nothing, finds work that nobody has claimed.
 */
const claimedForEachRun = 4;

/** The workers of one open database, and what they share: the claims, the queues, the session. */
export class WorkerPool implements WorkerHost, EndingWork {
  readonly registry: Registry;
  readonly sessions: Sessions;
  readonly environment: Environment;
  readonly shares: BucketAssignment;
  readonly board: TaskBoard;
  readonly runner: Runner;
  /** The rows that this process works on, where a cluster's service knows of them. */
  readonly claims: Claims | undefined;
  /** Says there whether this process has runs in flight. */
  readonly busy: BusyReport | undefined;
  #hosted: readonly Observer[];
  readonly #workers = new Map<Worker, readonly Observer[]>();
  /** Those that take nothing more on, and have not ended. */
  readonly #leaving = new Set<Worker>();
  readonly #worked = new Map<string, Observer>();
  readonly #unlisten: () => void;
  readonly #closing = new AbortController();
  /** How many drain, and the workers that stand for all of them. */
  #drains = 0;
  readonly #drainWorkers: Worker[] = [];

  constructor(options: PoolOptions) {
    this.registry = options.registry;
    this.sessions = options.sessions;
    this.shares = new BucketAssignment(options.sessions);
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
        options.queueLimit ?? (cluster === undefined ? defaultQueueLimit : this.#maxClaimed(observer)),
      isWorked: (observer) => this.#worked.has(observer),
      turns: options.registry.context.turns,
      onReady: () => this.pump(),
      onForget: ({ isClaimed, hint }) => {
        if (isClaimed) this.claims?.give(hint);
      },
    });
    this.runner = new Runner(this.registry, this.sessions, this.board);
    if (this.claims === undefined) {
      // Taken on before it was known who else works: both would run it, and one of them in vain.
      this.sessions.onChange(() =>
        this.board.letGo(({ observer, cell }) => this.shares.owns(observer, bucketOf(cell.row))),
      );
    }
    this.#unlisten = this.registry.onCommitted((hints, commit) => this.#committed(hints, commit));
  }

  /** Starts a worker. */
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
      `This process does not host the observer ${describeValue(name)}: give it to \`open\` in \`observers\`.`,
    );
  }

  /** An observer was unregistered: workers that start from now on do not run it. */
  forget(name: string): void {
    this.#hosted = this.#hosted.filter((observer) => observer.name !== name);
  }

  /** Runs under way, of all workers here. */
  get running(): number {
    let running = 0;
    for (const worker of this.#workers.keys()) running += worker.running;
    return running;
  }

  /** How many changes of an observer may wait here, claimed. */
  #maxClaimed(name: string): number {
    let runs = 0;
    for (const [worker, observers] of this.#workers)
      if (observers.some((each) => each.name === name)) runs += worker.maxRunsOf(name);
    const maxRuns = Math.min(runs, this.#worked.get(name)?.concurrency ?? runs);
    return Math.min(maxClaimed, Math.max(1, maxRuns) * claimedForEachRun);
  }

  /** The observers that workers run here, by name. */
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
    this.pump();
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
    this.shares.reset();
  }

  pump(): void {
    for (const worker of this.#workers.keys()) worker.pump();
  }

  /**
   * Hints of a commit in this process: those of its own share, or in a cluster those that it can
   * claim, are run at once.
   */
  #committed(hints: readonly Hint[], timestamp: number): void {
    if (this.#worked.size === 0) return;
    for (const { observer: name, address: hint, cell } of hints) {
      const observer = this.#worked.get(name);
      if (observer === undefined) continue;
      const bucket = hint.row[name.length + 1]!;
      const isClaimed = this.claims !== undefined;
      if (!isClaimed && !this.shares.owns(observer, bucket)) continue;
      const offer = { observer, cell, hint, timestamp, state: undefined, takenBy: undefined, isClaimed };
      if (this.board.offer(offer) === "taken" && isClaimed) this.#claim(this.board.taskOf(name, cell)!);
    }
  }

  /**
   * Nobody waits for the answer: where another has it already, it is let go, or the two runs are
   * told apart by their commits.
   */
  #claim(task: Task): void {
    const answer = this.claims!.take(task.hint);
    const withdraw = (isGranted: boolean) => {
      if (!isGranted) this.board.withdraw(task);
    };
    if (answer instanceof Promise) void answer.then(withdraw);
    else withdraw(answer);
  }

  /** Whether more stands in the store than fitted into the queues. */
  get hasMore(): boolean {
    return [...this.#workers.keys()].some((worker) => worker.hasMore);
  }

  /** Lets all workers look for hints now. */
  async scan(): Promise<void> {
    await Promise.all([...this.#workers.keys()].map((worker) => worker.scan()));
  }

  /**
   * Resolves when nothing is left to do, here or elsewhere.
   *
   * @throws ObserverError if changes wait for observers that no live process runs: it would wait
   * for ever.
   */
  async idle(options: IdleOptions = {}): Promise<void> {
    await untilIdle(this, { ...options, closing: this.#closing.signal, refuseOrphans: true });
  }

  /**
   * As {@link idle}, for a worker that has begun, and for observers that live workers run alone.
   * @internal
   */
  async idleOfWorkers(options: IdleOptions, after: Promise<void>): Promise<void> {
    await untilIdle(this, { ...options, after, closing: this.#closing.signal, refuseOrphans: false });
  }

  /**
   * Works until nothing is left to do, with a worker of its own for the observers that this process
   * hosts and nobody here runs.
   *
   * @throws ObserverError where changes wait for observers that no live process runs: it would wait
   * for ever.
   */
  async drain(options: DrainOptions = {}): Promise<void> {
    this.#assertOpen();
    throwIfAborted(options.signal, "Waiting until nothing is due");
    const survey = await surveyHints(this);
    const isNeeded = survey.busy || survey.orphans.size > 0 || !this.board.isQuiet;
    if (!isNeeded && survey.isSnapshot) return;
    this.#assertOpen();
    this.#drains++;
    try {
      this.#workForDrains();
      await untilIdle(this, { ...options, closing: this.#closing.signal, refuseOrphans: true });
    } finally {
      const ended = this.#endDrain();
      // Closing waits for the workers.
      if (options.signal?.aborted) ended.catch(() => undefined);
      else await ended;
    }
  }

  /**
   * Several who drain share workers, which stand until the last is done; each runs what was missing
   * when it began.
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
    throw new ClosedError("The database was closed; it runs no observers any more.");
  }

  /** Stops all workers, and waits for those that are stopping already. Harmless to repeat. */
  async close(options: StopOptions = {}): Promise<void> {
    if (!this.#closing.signal.aborted) {
      this.#closing.abort(new ClosedError("The database was closed while it was waited for."));
    }
    this.#unlisten();
    const workers = [...this.#workers.keys(), ...this.#leaving];
    const stopped = await Promise.allSettled(workers.map((worker) => worker.stop(options)));
    this.busy?.close();
    for (const each of stopped) if (each.status === "rejected") throw each.reason;
  }
}
