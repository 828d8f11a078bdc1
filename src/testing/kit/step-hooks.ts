import type { CommitHooks, StepInfo, StepName } from "../../transaction/index.js";
import type { Interference } from "./interference.js";
import { Pause } from "./pause.js";

/** A step that a commit has begun. */
export interface SeenStep {
  readonly name: StepName;
  readonly info: StepInfo;
}

/** Selects among the steps that have the same name. */
export type StepFilter = (info: StepInfo) => boolean;

interface Plan {
  readonly interference: Interference;
  readonly where: StepFilter | undefined;
}

/**
 * Shows and controls the steps of commits. It records the steps. It can pause a commit before or
 * after a step, so that a test can look at the database in between, and it can lose requests and
 * answers. Pass it to `openWithHooks`. Steps for which the test plans nothing run unchanged. A
 * one-phase commit has only one step. To have all steps, open the database with
 * `commit: "two-phase"`.
 *
 * @example
 * const hooks = new StepHooks();
 * await using db = await openWithHooks("memory:", { hooks, commit: "two-phase" });
 * const pause = hooks.pauseBefore("commit-primary");
 * const committing = db.transact((tx) => tx.set(accounts.balance, "alice", 1));
 * await pause.reached; // the locks are set, and nothing is committed yet
 * pause.resume();
 * await committing;
 */
export class StepHooks implements CommitHooks {
  readonly #seen: SeenStep[] = [];
  readonly #plans = new Map<StepName, Plan[]>();

  /** All steps that commits have begun, in order. */
  get seen(): readonly SeenStep[] {
    return this.#seen;
  }

  /** Returns how many steps of a name commits have begun. */
  count(name: StepName): number {
    return this.#seen.filter((step) => step.name === name).length;
  }

  /**
   * The step of each plan that no commit has taken. A plan for a step that never came has tested
   * nothing, so a test can expect this to be empty at its end.
   */
  get untaken(): readonly StepName[] {
    return [...this.#plans].flatMap(([name, plans]) => plans.map(() => name));
  }

  /**
   * Plans an interference with one step: the next step of this name that `where` accepts and that
   * no earlier plan takes. Steps carry the label of their transaction. The label of an observer's
   * run is the observer's name.
   */
  once(name: StepName, interference: Interference, where?: StepFilter): void {
    const plans = this.#plans.get(name) ?? [];
    this.#plans.set(name, [...plans, { interference, where }]);
  }

  /**
   * Pauses before a step until the test resumes the pause. Chooses the step as {@link once} does.
   */
  pauseBefore(name: StepName, where?: StepFilter): Pause {
    const pause = new Pause();
    this.once(name, pause.before, where);
    return pause;
  }

  /**
   * Pauses after a step until the test resumes the pause. Chooses the step as {@link once} does.
   */
  pauseAfter(name: StepName, where?: StepFilter): Pause {
    const pause = new Pause();
    this.once(name, pause.after, where);
    return pause;
  }

  /** Called by commits for each step. */
  step<T>(name: StepName, info: StepInfo, run: () => Promise<T>): Promise<T> {
    this.#seen.push({ name, info });
    const plans = this.#plans.get(name) ?? [];
    const plan = plans.find(({ where }) => where === undefined || where(info));
    if (plan === undefined) return run();
    this.#plans.set(
      name,
      plans.filter((each) => each !== plan),
    );
    return plan.interference(run, info, name) as Promise<T>;
  }
}
