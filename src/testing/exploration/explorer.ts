import { throwIfAborted } from "../../environment/index.js";
import { checkOptionNames, type OptionNames } from "../../errors/index.js";
import { Execution } from "./execution.js";
import { checkLimits, checkProgram, type Program } from "./program.js";
import { prepare } from "./snapshot.js";
import { areIndependent, type Step } from "./step.js";
import type { Snapshot } from "./world.js";

/** The options of {@link explore}. Each has a default. */
export interface ExploreOptions {
  /**
   * `"depth-first"` (default) is the faster order if there is no violation. `"breadth-first"` finds
   * a violation that needs the fewest steps.
   */
  readonly order?: "depth-first" | "breadth-first" | undefined;
  /** Number of states after which the exploration stops, incomplete. Default: 2,000,000. */
  readonly maxStates?: number | undefined;
  /** Number of steps after which an execution counts as endless. Default: 1,000. */
  readonly maxSteps?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  /**
   * Whether to try every order of steps that commute, instead of only one. This is slower and must
   * reach the same states. Default: false.
   */
  readonly everyOrder?: boolean | undefined;
  /** Called from time to time with the progress so far. Default: none. */
  readonly onProgress?: ((progress: ExploreProgress) => void) | undefined;
}

const exploreNames: OptionNames<ExploreOptions> = {
  order: true,
  maxStates: true,
  maxSteps: true,
  signal: true,
  everyOrder: true,
  onProgress: true,
};

/** The progress of an exploration. */
export interface ExploreProgress {
  /** Count of different states found. */
  readonly states: number;
  /** Count of steps tried from these states. */
  readonly transitions: number;
  /**
   * Count of executions begun. The explorer begins a new one whenever it returns to an earlier
   * state to try another step.
   */
  readonly executions: number;
  /** Count of different final states. */
  readonly ends: number;
  /** Length of the longest execution, in steps. */
  readonly depth: number;
}

/** The result of an exploration. */
export interface ExploreReport extends ExploreProgress {
  readonly program: string;
  /** Whether every interleaving was tried, or shown to be equivalent to one that was. */
  readonly complete: boolean;
  /** The first violation with the steps that led to it, or undefined if there is none. */
  readonly violation: ExploreViolation | undefined;
}

/** A violation that an exploration found, and the way to it. */
export interface ExploreViolation {
  readonly message: string;
  /** Which client did what, line by line. */
  readonly trace: readonly string[];
  /** The keys of the steps, for {@link replay}. */
  readonly steps: readonly string[];
}

/** The way from the beginning to a state. */
interface Way {
  readonly before: Way | undefined;
  readonly step: Step;
  readonly length: number;
}

/** A step that is still to be tried from a state. */
interface Branch {
  readonly from: Way | undefined;
  readonly step: Step;
  /**
   * Steps that the explorer need not try after this one. It tries them before this one instead, and
   * either order of the two steps leads to the same state.
   */
  readonly asleep: readonly Step[];
}

const progressEvery = 1_000;

/**
 * Tries every interleaving of a program's clients, and every fault that its budget allows, on the
 * real code. Stops at the first violation of the protocol, failed expectation, or final state that
 * cannot be healed.
 *
 * It does not continue from states that it has seen before. If steps commute, it tries only one
 * order of them (sleep sets).
 *
 * @example
 * const report = await explore({
 *   name: "two transfers",
 *   tables: [accounts],
 *   clients: { A: ({ db }) => db.transact(transfer), B: ({ db }) => db.transact(transfer) },
 * });
 * report.violation; // undefined if every interleaving is right
 */
export async function explore(program: Program, options: ExploreOptions = {}): Promise<ExploreReport> {
  checkProgram("explore", program);
  checkOptionNames("explore", options, exploreNames);
  const { maxStates, maxSteps } = options;
  checkLimits({ maxStates, maxSteps });
  return new Exploration(program, await prepare(program), options).run();
}

/** Performs the steps of a violation again. Returns the violation with its trace. */
export async function replay(
  program: Program,
  steps: readonly string[],
): Promise<{ readonly message: string | undefined; readonly trace: readonly string[] }> {
  checkProgram("replay", program);
  const trace: string[] = [];
  const execution = await Execution.begin(program, await prepare(program), trace);
  for (const key of steps) {
    const step = execution.steps().find((each) => each.key === key);
    if (step === undefined) return { message: `The step ${key} cannot happen at this point.`, trace };
    await execution.perform(step);
    if (execution.failure !== undefined) return { message: execution.failure.message, trace };
  }
  if (execution.isOver) await execution.finish();
  return { message: execution.failure?.message ?? execution.stuck, trace };
}

class Exploration {
  readonly #program: Program;
  readonly #snapshot: Snapshot;
  readonly #options: ExploreOptions;
  readonly #maxStates: number;
  readonly #maxSteps: number;
  /** The states found, each with the steps that the explorer did not try from it. */
  readonly #seen = new Map<string, ReadonlySet<string>>();
  readonly #healed = new Set<string>();
  readonly #branches: Branch[] = [];
  #next = 0;
  #transitions = 0;
  #executions = 0;
  #ends = 0;
  #depth = 0;
  /**
   * The current execution and the steps that it has performed. Undefined if no execution can
   * continue.
   */
  #live: { readonly execution: Execution; readonly way: Way | undefined } | undefined;

  constructor(program: Program, snapshot: Snapshot, options: ExploreOptions) {
    this.#program = program;
    this.#snapshot = snapshot;
    this.#options = options;
    this.#maxStates = options.maxStates ?? 2_000_000;
    this.#maxSteps = options.maxSteps ?? 1_000;
  }

  async run(): Promise<ExploreReport> {
    this.#throwIfAborted();
    const execution = await this.#begin();
    let violation = await this.#arrive(execution, undefined, []);
    while (violation === undefined) {
      const branch = this.#take();
      if (branch === undefined) return this.#report(true, undefined);
      if (this.#seen.size >= this.#maxStates) return this.#report(false, undefined);
      violation = await this.#try(branch);
    }
    return this.#report(false, violation);
  }

  #throwIfAborted(): void {
    throwIfAborted(this.#options.signal, `Exploring "${this.#program.name}"`);
  }

  async #begin(): Promise<Execution> {
    this.#executions++;
    return Execution.begin(this.#program, this.#snapshot);
  }

  #take(): Branch | undefined {
    if (this.#options.order !== "breadth-first") return this.#branches.pop();
    const branch = this.#branches[this.#next++];
    if (this.#next > 10_000) {
      // Frees the branches that were taken.
      this.#branches.splice(0, this.#next);
      this.#next = 0;
    }
    return branch;
  }

  async #try({ from, step, asleep }: Branch): Promise<ExploreViolation | undefined> {
    this.#throwIfAborted();
    const execution = await this.#executionAt(from);
    await execution.perform(step);
    this.#transitions++;
    if (this.#transitions % progressEvery === 0) this.#options.onProgress?.(this.#progress());
    return this.#arrive(execution, { before: from, step, length: (from?.length ?? 0) + 1 }, asleep);
  }

  /**
   * Returns an execution that has performed the steps of this way: the current one if it has, else
   * a new one.
   */
  async #executionAt(way: Way | undefined): Promise<Execution> {
    const live = this.#live;
    this.#live = undefined;
    if (live !== undefined && live.way === way) return live.execution;
    const execution = await this.#begin();
    for (const step of stepsOf(way)) await execution.perform(step);
    return execution;
  }

  /** Records a state, and the steps to try from it. */
  async #arrive(
    execution: Execution,
    way: Way | undefined,
    asleep: readonly Step[],
  ): Promise<ExploreViolation | undefined> {
    const length = way?.length ?? 0;
    this.#depth = Math.max(this.#depth, length);
    if (execution.failure !== undefined) return this.#violation(way);
    const { state } = execution;
    const known = this.#seen.get(state);
    const keys = new Set(asleep.map((step) => step.key));
    if (known !== undefined && [...known].every((key) => keys.has(key))) return undefined;
    this.#seen.set(state, known === undefined ? keys : intersection(known, keys));
    if (length >= this.#maxSteps)
      return this.#violation(way, `The program has not ended after ${length} steps.`);
    const steps = execution.steps();
    const untried = steps.filter(
      (step) => !keys.has(step.key) && (known === undefined || known.has(step.key)),
    );
    this.#branch(way, untried, asleep);
    if (known !== undefined) return undefined;
    if (!execution.isOver) {
      if (steps.length === 0) return this.#violation(way, execution.stuck);
      this.#live = { execution, way };
      return undefined;
    }
    this.#ends++;
    return this.#finish(execution, way);
  }

  #branch(from: Way | undefined, steps: readonly Step[], asleep: readonly Step[]): void {
    const before = [...asleep];
    const branches: Branch[] = [];
    for (const step of steps) {
      branches.push({ from, step, asleep: before.filter((each) => areIndependent(each, step)) });
      if (!this.#options.everyOrder) before.push(step);
    }
    // The depth-first order takes branches from the end. Reversed, the first branch is taken first.
    if (this.#options.order !== "breadth-first") branches.reverse();
    this.#branches.push(...branches);
  }

  async #finish(execution: Execution, way: Way | undefined): Promise<ExploreViolation | undefined> {
    const { remains } = execution;
    // What the clients of feeds have read, and how clients ended, is not part of what remains.
    const { ended, feeds } = this.#program;
    if (this.#healed.has(remains) && ended === undefined && feeds === undefined) return undefined;
    this.#healed.add(remains);
    await execution.finish();
    return execution.failure === undefined ? undefined : this.#violation(way);
  }

  /** Performs the steps of the way again and records the trace. */
  async #violation(way: Way | undefined, message?: string): Promise<ExploreViolation> {
    const trace: string[] = [];
    const execution = await Execution.begin(this.#program, this.#snapshot, trace);
    const steps = stepsOf(way);
    for (const step of steps) await execution.perform(step);
    if (message === undefined && execution.failure === undefined && execution.isOver)
      await execution.finish();
    const found =
      message ??
      execution.failure?.message ??
      "The failure did not happen again: something in the program is not repeatable.";
    return { message: found, trace, steps: steps.map((step) => step.key) };
  }

  #progress(): ExploreProgress {
    return {
      states: this.#seen.size,
      transitions: this.#transitions,
      executions: this.#executions,
      ends: this.#ends,
      depth: this.#depth,
    };
  }

  #report(complete: boolean, violation: ExploreViolation | undefined): ExploreReport {
    return { program: this.#program.name, complete, violation, ...this.#progress() };
  }
}

function stepsOf(way: Way | undefined): readonly Step[] {
  const steps: Step[] = [];
  for (let at = way; at !== undefined; at = at.before) steps.push(at.step);
  return steps.reverse();
}

function intersection(a: ReadonlySet<string>, b: ReadonlySet<string>): ReadonlySet<string> {
  return new Set([...a].filter((key) => b.has(key)));
}
