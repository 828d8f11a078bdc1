import { type Environment, throwIfAborted } from "../../environment/index.js";
import { InvalidArgumentError } from "../../errors/index.js";
import type { ClaimKey, Cluster, ClusterActivity } from "../../observer/index.js";
import { byteString, type MaybePromise } from "../../store/index.js";
import { coordinatorLimits as limits } from "../limits.js";
import { type Join, nothing, type Step } from "../wire/messages.js";
import { coordinatorService } from "../wire/service.js";
import type { LeaderConnection } from "./leader-connection.js";
import { LivenessQueries } from "./liveness-queries.js";
import { SessionKeeper } from "./session-keeper.js";
import type { SessionStream } from "./session-stream.js";

export interface RemoteClusterOptions {
  readonly connection: LeaderConnection;
  readonly environment: Environment;
  readonly attemptMs: number;
  readonly onFailure: (doing: string, error: unknown) => void;
}

/**
 * How long to wait for the answer to a claim, in milliseconds, also while it waits to be sent. After
 * that, the claim counts as granted.
 */
const claimMs = 500;
/**
 * How long this process waits for the acknowledgment that it is busy, in milliseconds. After that,
 * it continues without the acknowledgment. The wait is longer than `maxStallMs`: if the coordinator
 * did not answer because it was paused, its pause was long enough that it forgets all sessions.
 */
const busyMs = 3_000;
/**
 * Maximum number of requests without an answer. While there are that many, new steps wait. The
 * client then sends the waiting steps together.
 */
const maxUnanswered = 8;
/**
 * If this many steps wait, further claims are not sent: they count as granted. If twice as many
 * wait, the session joins again, and reports all claims that it then holds.
 */
const maxSteps = 4 * limits.claimsOfSession;

/** Maximum number of bytes of the claims that a session reports when it joins. */
const maxReportedBytes = limits.requestBytes / 2;

interface WaitingStep {
  readonly step: Step;
  /** For a `busy` step: the number of the busy period that begins. */
  readonly busyPeriod?: number | undefined;
  /**
   * For a `claim` step: called with whether the claim is granted. For a `busy` step: called after
   * the acknowledgment.
   */
  readonly resolve?: ((isGranted: boolean) => void) | undefined;
}

/**
 * The cluster as the coordinator sees it. If no coordinator answers, each method returns the answer
 * that is safe without a coordinator.
 */
export class RemoteCluster implements Cluster {
  readonly #options: RemoteClusterOptions;
  readonly #environment: Environment;
  readonly #alive: LivenessQueries;
  #session: string | undefined;
  #keeper: SessionKeeper | undefined;
  #stream: SessionStream | undefined;
  #steps: WaitingStep[] = [];
  #isFlushing = false;
  /** The claims that this process holds. It reports them to the next leader when it joins. */
  readonly #held = new Map<string, Uint8Array>();
  #isBusy = false;
  /**
   * Busy periods are numbered. The coordinator has acknowledged those up to `#acknowledgedPeriod`.
   */
  #busyPeriod = 0;
  #acknowledgedPeriod = 0;
  #introducedPeriod = 0;

  constructor(options: RemoteClusterOptions) {
    this.#options = options;
    this.#environment = options.environment;
    this.#alive = new LivenessQueries(options.connection, options.environment);
  }

  join(session: string, signal?: AbortSignal): Promise<void> {
    if (this.#keeper !== undefined && this.#session !== session) {
      throw new InvalidArgumentError(
        `This process has already joined the cluster as session ${this.#session}. Call leave() before joining as ${session}.`,
      );
    }
    this.#session = session;
    this.#keeper ??= this.#keep(session);
    return this.#keeper.known(signal);
  }

  #keep(session: string): SessionKeeper {
    // A keeper that still leaves must not take the stream of the next one.
    const isCurrent = () => this.#keeper === keeper;
    const keeper: SessionKeeper = new SessionKeeper({
      ...this.#options,
      introduce: () => this.#introduce(session),
      onStream: (stream) => {
        if (isCurrent()) this.#connected(stream);
      },
      onJoined: () => {
        if (isCurrent()) this.#joined();
      },
    });
    return keeper;
  }

  async leave(): Promise<void> {
    const keeper = this.#keeper;
    this.#keeper = undefined;
    this.#held.clear();
    this.#isBusy = false;
    await keeper?.leave();
    if (this.#keeper === undefined) this.#connected(undefined);
  }

  alive(session: string): MaybePromise<boolean | undefined> {
    return this.#alive.ask(session);
  }

  claim(key: ClaimKey): MaybePromise<boolean> {
    const name = byteString(key);
    if (this.#held.size < limits.claimsOfSession) this.#held.set(name, key);
    if (this.#stream === undefined || this.#steps.length >= maxSteps) return true;
    const claimed = new Promise<boolean>((resolve) => {
      const timer = this.#environment.setTimer(() => resolve(true), claimMs);
      const answered = (isGranted: boolean) => {
        timer.cancel();
        resolve(isGranted);
      };
      this.#tell({ step: { type: "claim", key }, resolve: answered });
    });
    return claimed.then((isGranted) => {
      if (!isGranted) this.#held.delete(name);
      return isGranted;
    });
  }

  release(key: ClaimKey): void {
    this.#held.delete(byteString(key));
    if (this.#stream !== undefined) this.#tell({ step: { type: "release", key } });
  }

  busy(): MaybePromise<void> {
    this.#isBusy = true;
    const busyPeriod = ++this.#busyPeriod;
    const stream = this.#stream;
    if (stream === undefined) return;
    return new Promise((resolve) => {
      const done = () => {
        timer.cancel();
        resolve();
      };
      const timer = this.#environment.setTimer(() => {
        // Without an acknowledgment, the coordinator may still regard this session as quiet. After
        // the stream is canceled, the session joins again and reports that it is busy.
        stream.cancel();
        resolve();
      }, busyMs);
      this.#tell({ step: { type: "busy" }, busyPeriod, resolve: done });
    });
  }

  quiet(): void {
    this.#isBusy = false;
    if (this.#stream !== undefined) this.#tell({ step: { type: "quiet" } });
  }

  async activity(signal?: AbortSignal): Promise<ClusterActivity | undefined> {
    const doing = "Asking the coordinator which sessions are busy";
    throwIfAborted(signal, doing);
    try {
      const { epoch, busyPeriods, sessions, busy } = await this.#options.connection.ask(
        doing,
        signal,
        (channel, bounded) => channel.ask(coordinatorService.activity, nothing, bounded),
      );
      return { epoch, busyPeriods, sessions: new Set(sessions), busy: new Set(busy) };
    } catch (error) {
      throwIfAborted(signal, doing);
      this.#options.onFailure(doing, error);
      return undefined;
    }
  }

  #introduce(session: string): Join {
    // The `Join` message lists the session's current claims and says whether it is busy. It
    // replaces the steps that are still waiting.
    for (const { resolve } of this.#steps.splice(0)) resolve?.(true);
    this.#introducedPeriod = this.#busyPeriod;
    // The connection may have been lost before the coordinator acknowledged a busy period. The
    // session then reports that period even if it has ended, because a process that compares two
    // answers of the coordinator must see that something ran in between.
    const busy = this.#isBusy || this.#acknowledgedPeriod < this.#busyPeriod;
    return { session, busy, claims: this.#reported() };
  }

  /** The claims that fit into one message. A claim is only advice, so the others may be missing. */
  #reported(): readonly Uint8Array[] {
    const claims: Uint8Array[] = [];
    let left = maxReportedBytes;
    for (const key of this.#held.values()) {
      left -= key.length;
      if (left < 0) break;
      claims.push(key);
    }
    return claims;
  }

  #joined(): void {
    this.#acknowledgedPeriod = Math.max(this.#acknowledgedPeriod, this.#introducedPeriod);
    if (!this.#isBusy && this.#stream !== undefined) this.#tell({ step: { type: "quiet" } });
  }

  #connected(stream: SessionStream | undefined): void {
    this.#stream = stream;
    if (stream === undefined) for (const { resolve } of this.#steps.splice(0)) resolve?.(true);
  }

  #tell(step: WaitingStep): void {
    if (this.#steps.length >= 2 * maxSteps) {
      this.#stream?.cancel();
      return;
    }
    this.#steps.push(step);
    this.#flushSoon();
  }

  /** Sends the steps of one turn of the event loop in one request. */
  #flushSoon(): void {
    if (this.#isFlushing) return;
    this.#isFlushing = true;
    this.#environment.defer(() => {
      this.#isFlushing = false;
      this.#flush();
    });
  }

  #flush(): void {
    const stream = this.#stream;
    while (stream !== undefined && this.#steps.length > 0 && stream.unanswered < maxUnanswered) {
      this.#send(stream, this.#steps.splice(0, limits.steps));
    }
  }

  #send(stream: SessionStream, waiting: readonly WaitingStep[]): void {
    const claims = waiting.filter(({ step }) => step.type === "claim");
    const answered = (granted: readonly boolean[]) => {
      for (const [index, { resolve }] of claims.entries()) resolve?.(granted[index] ?? true);
      for (const { step, resolve } of waiting) if (step.type === "busy") resolve?.(true);
      if (this.#steps.length > 0) this.#flushSoon();
    };
    const acknowledged = (granted: readonly boolean[]) => {
      for (const { busyPeriod = 0 } of waiting) {
        this.#acknowledgedPeriod = Math.max(this.#acknowledgedPeriod, busyPeriod);
      }
      answered(granted);
    };
    stream.send(waiting.map(({ step }) => step)).then(acknowledged, () => answered([]));
  }
}
