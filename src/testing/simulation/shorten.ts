import type { Reduction } from "./plan/reduction.js";
import { playRun } from "./play-run.js";
import type { RunOptions, RunResult } from "./run-result.js";

/** The shortest run found that fails in the same way as another one. */
export interface ShortenedRun {
  /** The failure of the shortened run. */
  readonly message: string;
  /** Names of the remaining steps, incidents and request faults. */
  readonly steps: readonly string[];
  readonly incidents: readonly string[];
  readonly faults: readonly string[];
  /** Everything that happens in it, one line each: when, to which process, what. */
  readonly trace: readonly string[];
}

/** What was found out about a failing run by playing it again. */
export interface Replay {
  /** Whether the run had the same events and the same error again. */
  readonly repeats: boolean;
  /** Undefined if the run did not fail in the same way again. */
  readonly shortened: ShortenedRun | undefined;
}

/** Events of a run that count as one run, so that runs without an end are not played for minutes. */
const eventsOfRun = 5_000;

/** How long to shorten a run. */
interface Effort {
  /** The most runs that are played. */
  readonly most: number;
  /** Ends the shortening with the shortest run found so far. */
  readonly signal: AbortSignal | undefined;
}

/**
 * Plays a failing run again, and shortens it: leaves out steps, incidents and faults without which
 * it still fails.
 */
export async function shorten(options: RunOptions, failed: RunResult, effort: Effort): Promise<Replay> {
  const again = await playRun(options);
  const repeats = again.hash === failed.hash && again.failure === failed.failure;
  if (!failsAs(failed, again)) return { repeats, shortened: undefined };
  const shortener = new Shortener(options, failed, effort);
  await shortener.shorten();
  return { repeats, shortened: await shortener.show() };
}

type Part = "steps" | "incidents" | "faults";

class Shortener {
  readonly #options: RunOptions;
  readonly #failed: RunResult;
  #best: RunResult;
  #reduction: Reduction;
  readonly #signal: AbortSignal | undefined;
  #left: number;

  constructor(options: RunOptions, failed: RunResult, { most, signal }: Effort) {
    this.#options = options;
    this.#failed = failed;
    this.#best = failed;
    this.#reduction = { ...options.reduction, allowedFaults: new Set(failed.faults) };
    this.#signal = signal;
    // It was played once already.
    this.#left = most - 1;
  }

  get #isOver(): boolean {
    return this.#left <= 0 || this.#signal?.aborted === true;
  }

  async shorten(): Promise<void> {
    for (let before = Number.POSITIVE_INFINITY; this.#size < before && !this.#isOver; ) {
      before = this.#size;
      for (const part of ["faults", "incidents", "steps"] as const) await this.#shortenPart(part);
    }
  }

  get #size(): number {
    return this.#best.steps.length + this.#best.incidents.length + this.#best.faults.length;
  }

  /** Leaves out halves of a part, then quarters, and so on down to single names. */
  async #shortenPart(part: Part): Promise<void> {
    for (let size = this.#best[part].length; size >= 1; size = Math.floor(size / 2)) {
      for (let from = 0; from < this.#best[part].length; ) {
        if (this.#isOver) return;
        const without = new Set(this.#best[part].slice(from, from + size));
        if (!(await this.#leaveOut(part, without))) from += size;
      }
    }
  }

  async #leaveOut(part: Part, without: ReadonlySet<string>): Promise<boolean> {
    const reduction = this.#reduced(part, without);
    const result = await playRun({ ...this.#options, reduction });
    this.#left -= Math.ceil(result.counts.events / eventsOfRun);
    if (!failsAs(this.#failed, result)) return false;
    this.#best = result;
    this.#reduction = reduction;
    return true;
  }

  #reduced(part: Part, without: ReadonlySet<string>): Reduction {
    const { leftSteps, leftIncidents, allowedFaults } = this.#reduction;
    switch (part) {
      case "steps":
        return { ...this.#reduction, leftSteps: new Set([...leftSteps, ...without]) };
      case "incidents":
        return { ...this.#reduction, leftIncidents: new Set([...leftIncidents, ...without]) };
      case "faults": {
        const allowed = [...allowedFaults!].filter((name) => !without.has(name));
        return { ...this.#reduction, allowedFaults: new Set(allowed) };
      }
    }
  }

  async show(): Promise<ShortenedRun> {
    const trace: string[] = [];
    const shown = await playRun({ ...this.#options, reduction: this.#reduction, trace });
    const { steps, incidents, faults } = shown;
    return { message: shown.failure ?? this.#best.failure!, steps, incidents, faults, trace };
  }
}

function failsAs({ failure }: RunResult, other: RunResult): boolean {
  return other.failure !== undefined && signatureOf(other.failure) === signatureOf(failure!);
}

/** Returns the kind of a failure: its first line without what differs between runs. */
function signatureOf(failure: string): string {
  const [line = ""] = failure.split("\n");
  const invariant = /^Invariant \d+/.exec(line);
  return invariant === null ? line.replace(/[\d.]+/g, "#").slice(0, 60) : invariant[0];
}
