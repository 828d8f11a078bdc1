import { type Environment, throwIfAborted } from "../../../environment/index.js";
import {
  InvalidArgumentError,
  NotLeaderError,
  OracleUnavailableError,
  PercolatorError,
} from "../../../errors/index.js";
import {
  type GatheredOracle,
  type GatheringOptions,
  gatheredOracle,
  type TimestampRange,
  within,
} from "../../../oracle/index.js";

/** A client's connection to a candidate for leadership of an oracle. */
export interface OracleCandidate {
  /** Its name, which {@link NotLeaderError.leader} refers to. */
  readonly name: string;
  /**
   * Requests exactly `count` timestamps. Rejects with a `NotLeaderError` if the candidate does not
   * lead.
   */
  readonly request: (count: number, signal: AbortSignal) => Promise<TimestampRange>;
}

export interface ElectedOracleOptions extends GatheringOptions {
  /** All candidates, at most 100. */
  readonly candidates: readonly OracleCandidate[];
  /**
   * How long to wait for one candidate's answer before asking the next, in milliseconds. Default:
   * 2,000.
   */
  readonly candidateTimeoutMs?: number | undefined;
}

const maxCandidates = 100;

/**
 * Creates a {@link gatheredOracle} that asks the leader among several candidates. Each round asks
 * each candidate at most once, and begins with the one that answered last. If a candidate names the
 * leader, the round asks that leader next. A candidate that fails is skipped. But if the failure is
 * an error of this package that is not `retryable`, the oracle rejects with that error. After a
 * round without an answer, the oracle waits and starts again, for `retryForMs`.
 */
export function electedOracle(options: ElectedOracleOptions): GatheredOracle {
  const { candidates, candidateTimeoutMs = 2_000, ...gathering } = options;
  checkCandidates(candidates);
  const election = new Election(candidates, gathering.environment, candidateTimeoutMs);
  return gatheredOracle({
    ...gathering,
    request: (count, signal) =>
      election.ask(signal, (candidate, bounded) => candidate.request(count, bounded)),
  });
}

/** Which candidate leads, as far as one client knows. */
class Election {
  readonly #candidates: readonly OracleCandidate[];
  readonly #environment: Environment;
  readonly #timeoutMs: number;
  /** Index of the candidate to ask first. */
  #first = 0;

  constructor(candidates: readonly OracleCandidate[], environment: Environment, timeoutMs: number) {
    this.#candidates = candidates;
    this.#environment = environment;
    this.#timeoutMs = timeoutMs;
  }

  /** Runs one round. */
  async ask<T>(
    signal: AbortSignal,
    question: (candidate: OracleCandidate, signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const untried = new Set(this.#candidates.keys());
    let index = this.#first;
    for (;;) {
      const candidate = this.#candidates[index]!;
      untried.delete(index);
      try {
        const answer = await this.#askOne(candidate, signal, question);
        this.#first = index;
        return answer;
      } catch (error) {
        throwIfAborted(signal, "Asking the oracle");
        if (error instanceof PercolatorError && !error.retryable) throw error;
        const pointedTo = this.#pointedTo(error);
        // The next round begins with the candidate that was named last. If none was named, it
        // begins with the candidate after this one.
        this.#first = pointedTo ?? this.#after(index);
        const next = this.#next(index, pointedTo, untried);
        if (next === undefined) throw this.#nobody(error);
        index = next;
      }
    }
  }

  #askOne<T>(
    candidate: OracleCandidate,
    signal: AbortSignal,
    question: (candidate: OracleCandidate, signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const doing = `Asking "${candidate.name}" for timestamps`;
    return within({ environment: this.#environment, timeoutMs: this.#timeoutMs, signal, doing }, (bounded) =>
      question(candidate, bounded),
    );
  }

  #pointedTo(error: unknown): number | undefined {
    if (!(error instanceof NotLeaderError) || error.leader === undefined) return undefined;
    const index = this.#candidates.findIndex((candidate) => candidate.name === error.leader);
    return index < 0 ? undefined : index;
  }

  #next(index: number, pointedTo: number | undefined, untried: ReadonlySet<number>): number | undefined {
    if (pointedTo !== undefined && untried.has(pointedTo)) return pointedTo;
    let next = this.#after(index);
    for (let tries = 0; tries < this.#candidates.length; tries++) {
      if (untried.has(next)) return next;
      next = this.#after(next);
    }
    return undefined;
  }

  #after(index: number): number {
    return (index + 1) % this.#candidates.length;
  }

  #nobody(cause: unknown): OracleUnavailableError {
    const names = this.#candidates.map((candidate) => `"${candidate.name}"`).join(", ");
    return new OracleUnavailableError(
      `None of the oracle's candidates (${names}) assigns timestamps now. Check whether they run, and try again.`,
      { cause },
    );
  }
}

function checkCandidates(candidates: readonly OracleCandidate[]): void {
  if (candidates.length < 1 || candidates.length > maxCandidates) {
    throw new InvalidArgumentError(
      `An oracle must have 1 to ${maxCandidates} candidates, not ${candidates.length}.`,
    );
  }
  if (new Set(candidates.map((candidate) => candidate.name)).size < candidates.length) {
    throw new InvalidArgumentError("Two of the oracle's candidates have the same name. Give each its own.");
  }
}
