import {
  backoffDelay,
  type ClockReading,
  type Environment,
  readClocks,
  sleep,
  throwIfAborted,
} from "../environment/index.js";
import { ClosedError, NotLeaderError, OracleUnavailableError } from "../errors/index.js";
import { Alarm } from "./alarm.js";
import {
  type LeaderSettings,
  type LeaderStatus,
  leaderSettings,
  type OracleLeaderOptions,
} from "./leader-options.js";
import type { LeaseRecord } from "./lease-record.js";
import { isRecord, isSameLease, LeaseRow, type StandingLease } from "./lease-row.js";
import { checkCount, type TimestampRange } from "./range.js";
import { RangeQueue } from "./range-queue.js";
import { Term, wallUs } from "./term.js";
import { WatchedLease } from "./watched-lease.js";
import { TimestampWindow } from "./window.js";

const retrying = { initialMs: 20, maximumMs: 1_000 };
const maxReleases = 3;

/**
 * One candidate for the leadership of an oracle (section 2.3 of the paper): the server half,
 * without the network. All candidates share one row of a store. The candidate that holds the row's
 * lease gives out timestamps, and the others stand by.
 *
 * | role | next | when |
 * | --- | --- | --- |
 * | `idle` | `standby` | the program calls {@link start} |
 * | `standby` | `leading` | the lease has ended, and this candidate has taken the row |
 * | `leading` | `standby` | it finds that another candidate has taken the row |
 * | any | `stopped` | the program calls {@link stop}, which gives up the lease |
 *
 * A leader renews its lease and raises its mark. If its lease runs out before a renewal, its role
 * stays `leading`, but it refuses callers until the renewal succeeds.
 *
 * Every timestamp is max(last + 1, wall clock in microseconds). Before the leader gives out a
 * timestamp, it has saved a high-water mark at or above that timestamp in the row. A new leader
 * continues from that mark, so timestamps never go back, even if the clocks do.
 *
 * After taking a timestamp, the leader checks on the monotonic clock that its lease still holds. If
 * the lease holds, no other candidate has led since this one took the row. The timestamp is
 * therefore greater than all timestamps that were given out before the call.
 *
 * ```ts
 * const leader = new OracleLeader({ store, environment: systemEnvironment, name: "10.0.0.7:4100" });
 * leader.start();
 * const { first, count } = await leader.next(100); // NotLeaderError while another leads
 * await leader.stop();
 * ```
 */
export class OracleLeader {
  /** The unique id of this candidate in the row. A restarted process has another id. */
  readonly #self: string;
  readonly #settings: LeaderSettings;
  readonly #environment: Environment;
  readonly #options: OracleLeaderOptions;
  readonly #row: LeaseRow;
  readonly #watched: WatchedLease;
  readonly #waiting: RangeQueue;
  readonly #alarm: Alarm;
  readonly #ending = new AbortController();
  #running: Promise<void> | undefined;
  #stopping: Promise<void> | undefined;
  #term: Term | undefined;
  #known: LeaseRecord | undefined;
  /**
   * The highest revision that this candidate has seen or tried. No two attempts may have the same
   * revision.
   */
  #revision = 0;
  /** The highest mark that this candidate has seen. */
  #highest = 0;
  #cluster = "";
  #saveTookMs = 0;
  #hasWritten = false;
  #reported: LeaderStatus = { role: "idle", epoch: 0, leader: undefined };

  /** Throws an `InvalidArgumentError` for invalid options. */
  constructor(options: OracleLeaderOptions) {
    this.#settings = leaderSettings(options);
    this.#options = options;
    this.#environment = options.environment;
    this.#self = options.environment.uniqueId();
    this.#row = new LeaseRow(options.store, options.environment, this.#settings.requestTimeoutMs);
    this.#watched = new WatchedLease(this.#self, this.#settings.maximumDrift, options.seen);
    this.#waiting = new RangeQueue(this.#settings.maxWaiting);
    this.#alarm = new Alarm(options.environment);
  }

  get status(): LeaderStatus {
    const term = this.#term;
    if (term !== undefined) return { role: "leading", epoch: term.epoch, leader: this.#settings.name };
    const role = this.#isEnding ? "stopped" : this.#running === undefined ? "idle" : "standby";
    return { role, epoch: this.#known?.epoch ?? 0, leader: this.#otherLeader };
  }

  /**
   * Whether its lease holds at this moment, so that it gives out timestamps. False while it renews
   * a lease that has run out.
   */
  get holds(): boolean {
    return this.#term?.holds(readClocks(this.#environment)) ?? false;
  }

  /** Identifies the database of the lease. Empty if this candidate has not seen the lease yet. */
  get cluster(): string {
    return this.#cluster;
  }

  /**
   * Starts to compete for the leadership, until {@link stop}. The candidate retries after failures.
   *
   * @throws ClosedError if it was stopped.
   */
  start(): void {
    if (this.#isEnding) {
      throw new ClosedError(
        `The oracle's candidate "${this.#settings.name}" was stopped. Create a new one to start again.`,
      );
    }
    this.#running ??= this.#run();
    this.#tell();
  }

  /**
   * Stops giving out timestamps at once. If the store answers, it also gives up the lease, so that
   * another candidate can take over without a wait. Never rejects. Takes at most the time of a few
   * requests. A repeated call has no further effect.
   */
  stop(): Promise<void> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  /**
   * Gives out `count` consecutive timestamps, greater than all that any candidate gave out before
   * the call. Waits if the mark must be raised first.
   *
   * @throws NotLeaderError if the lease does not hold. The error names the leader if this candidate
   * knows it.
   * @throws OracleUnavailableError if too many requests wait already.
   */
  async next(
    count = 1,
    options: { readonly signal?: AbortSignal | undefined } = {},
  ): Promise<TimestampRange> {
    checkCount(count, this.#settings.maxAtOnce);
    throwIfAborted(options.signal, "Taking timestamps");
    const term = this.#leading();
    const range = this.#waiting.isEmpty ? this.#take(term, count) : undefined;
    if (range !== undefined) return range;
    const waiting = this.#waiting.add(count, options.signal);
    this.#alarm.ring();
    return waiting;
  }

  /**
   * A timestamp at or above all that any candidate gave out before the call, and below all later
   * ones. 0 if none was given out yet.
   *
   * @throws NotLeaderError if the lease does not hold.
   */
  latest(): number {
    const term = this.#leading();
    const { last } = term.window;
    this.#checkHolds(term);
    return last;
  }

  #leading(): Term {
    if (this.#term === undefined) throw this.#notLeader();
    this.#checkHolds(this.#term);
    return this.#term;
  }

  #checkHolds(term: Term): void {
    if (this.#term === term && term.holds(readClocks(this.#environment))) return;
    // Wakes the background loop, so that it soon tries to renew the lease.
    this.#alarm.ring();
    throw this.#notLeader();
  }

  #take(term: Term, count: number): TimestampRange | undefined {
    const range = term.window.take(count, wallUs(this.#environment.now()));
    if (range === undefined) return undefined;
    if (term.window.isLow) this.#alarm.ring();
    // Checked for every answer, after taking the timestamps: the process may have been paused since
    // its last check.
    this.#checkHolds(term);
    return range;
  }

  /** The name of another candidate that leads. Undefined if none is known. */
  get #otherLeader(): string | undefined {
    const known = this.#known;
    return known === undefined || known.holder === "" || known.holder === this.#self ? undefined : known.name;
  }

  #notLeader(): NotLeaderError {
    const { name } = this.#settings;
    if (this.#isEnding) {
      return new NotLeaderError(
        `The oracle's candidate "${name}" was stopped and assigns no timestamps. Ask another candidate.`,
      );
    }
    if (this.#term !== undefined) {
      return new NotLeaderError(
        `The oracle's candidate "${name}" cannot be sure that it still leads: its lease has expired and is not renewed yet. ` +
          "Ask another candidate, or ask again.",
      );
    }
    const leader = this.#otherLeader;
    const hint = leader === undefined ? "it does not know the leader" : `the leader was last "${leader}"`;
    return new NotLeaderError(
      `The oracle's candidate "${name}" does not lead; ${hint}. Ask another candidate.`,
      {
        leader,
      },
    );
  }

  #tell(): void {
    const now = this.status;
    const reported = this.#reported;
    if (now.role === reported.role && now.epoch === reported.epoch && now.leader === reported.leader) return;
    this.#reported = now;
    this.#options.onChange?.(now);
  }

  get #isEnding(): boolean {
    return this.#ending.signal.aborted;
  }

  async #run(): Promise<void> {
    let isPrepared = false;
    let failures = 0;
    while (!this.#isEnding) {
      const doing =
        this.#term === undefined ? "standing by for the oracle's lease" : "renewing the oracle's lease";
      try {
        if (!isPrepared) await this.#row.prepare(this.#ending.signal);
        isPrepared = true;
        await (this.#term === undefined ? this.#standBy() : this.#lead(this.#term));
        failures = 0;
      } catch (error) {
        if (this.#isEnding) return;
        failures++;
        this.#options.onFailure?.({ doing, error });
        if (!this.#term?.holds(readClocks(this.#environment))) this.#waiting.fail(this.#notLeader());
        await this.#pause(backoffDelay(this.#environment, retrying, failures));
      }
    }
  }

  /** Waits, but returns at once if the candidate is stopped. */
  #pause(delayMs: number): Promise<void> {
    return sleep(this.#environment, delayMs, this.#ending.signal).catch(() => undefined);
  }

  /** Reads the lease once. Takes it if this candidate may, else waits a little. */
  async #standBy(): Promise<void> {
    const standing = await this.#row.read(this.#ending.signal);
    this.#learn(standing);
    this.#tell();
    const remainingMs = this.#watched.remainingMs(standing, this.#environment.monotonic());
    if (remainingMs === 0) return this.#acquire(standing);
    // Often enough to notice that a leader has gone, with jitter so that standbys do not read at
    // the same moment.
    const lookMs = this.#settings.lookEveryMs * (0.5 + 0.5 * this.#environment.random());
    await this.#pause(Math.min(remainingMs, lookMs));
  }

  #learn(standing: StandingLease | undefined): void {
    this.#known = standing?.record;
    this.#revision = Math.max(this.#revision, standing?.record.revision ?? 0);
    this.#highest = Math.max(this.#highest, standing?.record.mark ?? 0);
    this.#cluster = standing?.record.cluster || this.#cluster;
  }

  /**
   * Tries once to take the lease. If the outcome of an attempt stays unknown, the candidate
   * abandons the attempt. The store may still apply it later. The row then holds this candidate's
   * own lease, but the candidate gave out no timestamp under that lease.
   */
  async #acquire(standing: StandingLease | undefined): Promise<void> {
    if (this.#isEnding) return;
    const askedAt = readClocks(this.#environment);
    // If the row was deleted, the highest mark that this candidate knows keeps the oracle from
    // going back.
    const floor = standing?.record.mark ?? this.#highest;
    const record: LeaseRecord = {
      epoch: (standing?.record.epoch ?? 0) + 1,
      revision: ++this.#revision,
      holder: this.#self,
      name: this.#settings.name,
      leaseMs: this.#settings.leaseMs,
      mark: new TimestampWindow(floor, floor, this.#settings.windowUs).wanted(wallUs(askedAt.wall)),
      cluster: this.#cluster || this.#self,
    };
    this.#hasWritten = true;
    if ((await this.#row.put(standing, record)) !== "applied") {
      const found = await this.#row.read();
      if (!isRecord(found, record)) {
        this.#learn(found);
        if (isSameLease(found, standing)) throw unanswered("taking the oracle's lease");
        return;
      }
    }
    this.#highest = Math.max(this.#highest, record.mark);
    this.#cluster = record.cluster;
    if (this.#isEnding) return;
    this.#term = new Term(record, floor, askedAt, this.#settings.windowUs);
    this.#tell();
  }

  /** Waits until the lease must be renewed or the mark must be raised, and then does both. */
  async #lead(term: Term): Promise<void> {
    const { renewEveryMs, windowUs } = this.#settings;
    const everyMs = Math.min(renewEveryMs, windowUs / 2_000);
    const dueAt = term.leasedAt.monotonic + everyMs * (0.9 + 0.1 * this.#environment.random());
    const now = readClocks(this.#environment);
    const isWanted = !this.#waiting.isEmpty || term.window.isLow || !term.holds(now);
    if (!isWanted && dueAt > now.monotonic) await this.#alarm.wait(dueAt - now.monotonic);
    if (!this.#isEnding) await this.#save(term);
  }

  /** Renews the lease and raises the mark, in one write. */
  async #save(term: Term): Promise<void> {
    const askedAt = readClocks(this.#environment);
    // The clock advances while the store handles the write. The mark is therefore calculated for a
    // later time: now plus twice the duration of the last write.
    const nowUs = wallUs(askedAt.wall + 2 * this.#saveTookMs);
    const record: LeaseRecord = {
      ...term.lease.record,
      revision: ++this.#revision,
      mark: term.window.wanted(nowUs),
    };
    const answer = await this.#row.put(term.lease, record);
    if (answer === "applied") return this.#saved(term, record, askedAt);
    // The leader gives out nothing until it knows which candidate has changed the row.
    if (answer === "rejected") term.isDoubted = true;
    const found = await this.#row.read();
    if (isRecord(found, record)) {
      this.#saved(term, record, askedAt);
    } else if (found?.record.holder === this.#self && found.record.epoch === term.epoch) {
      const isUnchanged = isSameLease(found, term.lease);
      term.adopt(found);
      this.#learn(found);
      this.#serve(term);
      if (isUnchanged) throw unanswered("renewing the oracle's lease");
    } else {
      this.#lose(found);
    }
  }

  #saved(term: Term, record: LeaseRecord, askedAt: ClockReading): void {
    term.extend(record, askedAt);
    this.#highest = Math.max(this.#highest, record.mark);
    this.#saveTookMs = this.#environment.monotonic() - askedAt.monotonic;
    this.#serve(term);
    if (term.holds(readClocks(this.#environment))) return;
    throw new OracleUnavailableError(
      "The oracle's lease expired before the store answered its renewal: the store is too slow for the lease, or a clock jumped. " +
        "Try again. If it repeats, check the store's latency, or set a longer lease.",
    );
  }

  #serve(term: Term): void {
    if (this.#term === term) this.#waiting.serve((count) => this.#take(term, count));
  }

  /** Becomes a standby, since another candidate has taken the row. */
  #lose(found: StandingLease | undefined): void {
    this.#term = undefined;
    this.#learn(found);
    this.#waiting.fail(this.#notLeader());
    if (!this.#isEnding) this.#tell();
  }

  async #stop(): Promise<void> {
    const term = this.#term;
    // Requests in progress then find no term, and give out no timestamps.
    this.#term = undefined;
    this.#ending.abort(new ClosedError(`The oracle's candidate "${this.#settings.name}" was stopped.`));
    this.#alarm.ring();
    this.#waiting.fail(this.#notLeader());
    this.#tell();
    await this.#running;
    if (this.#hasWritten) await this.#release(term);
  }

  /**
   * Gives up the lease, so that no standby has to wait for its end. Also lowers the mark to the
   * last timestamp. The lower mark is safe: this candidate gives out no more timestamps, and the
   * store rejects its delayed writes of a higher mark.
   */
  async #release(term: Term | undefined): Promise<void> {
    for (let attempt = 1; attempt <= maxReleases; attempt++) {
      try {
        const found = await this.#row.read();
        if (found?.record.holder !== this.#self) return;
        const mark = found.record.epoch === term?.epoch ? term.window.last : found.record.mark;
        const revision = Math.max(this.#revision, found.record.revision) + 1;
        this.#revision = revision;
        const record = { ...found.record, revision, holder: "", name: "", leaseMs: 0, mark };
        if ((await this.#row.put(found, record)) === "applied") return;
      } catch (error) {
        this.#options.onFailure?.({ doing: "giving up the oracle's lease", error });
      }
      if (attempt < maxReleases) {
        await sleep(this.#environment, backoffDelay(this.#environment, retrying, attempt));
      }
    }
  }
}

function unanswered(doing: string): OracleUnavailableError {
  return new OracleUnavailableError(
    `The store refused the request or did not answer: ${doing} will be tried again.`,
  );
}
