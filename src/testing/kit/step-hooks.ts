import type { CommitHooks, StepInfo, StepName } from "../../transaction/index.js";
import type { Interference } from "./interference.js";
import { Pause } from "./pause.js";

/** A step that was begun. */
export interface SeenStep {
  readonly name: StepName;
  readonly info: StepInfo;
}

/** Which of the steps of a name is meant. */
export type StepFilter = (info: StepInfo) => boolean;

interface Plan {
  readonly interference: Interference;
  readonly where: StepFilter | undefined;
}

/**
 * The steps of commits, one by one: shows which were done, stops before or after one so that a test can look at the
 * database in between, and lets requests and answers be lost. For `openWithHooks`; steps that
 * nothing was planned for just happen. A commit in one phase has one step; `commit: "two-phase"` has them all.
 *
 * @example
 * const hooks = new StepHooks();
 * await using db = await openWithHooks("memory:", { hooks, commit: "two-phase" });
 * const pause = hooks.pauseBefore("commit-primary");
 * const committing = db.transact((tx) => tx.set(accounts.balance, "alice", 1));
 * await pause.reached; // the lock stands, and nothing is committed yet
 * pause.resume();
 * await committing;
 */
export class StepHooks implements CommitHooks {
  readonly #seen: SeenStep[] = [];
  readonly #plans = new Map<StepName, Plan[]>();

  /** All steps that were begun, in order. */
  get seen(): readonly SeenStep[] {
    return this.#seen;
  }

  /** How many steps of a name were begun. */
  count(name: StepName): number {
    return this.#seen.filter((step) => step.name === name).length;
  }

  /**
   * Interferes with one step: the next of this name for which `where` holds, and that no earlier plan takes. Steps carry
   * the label of their transaction: an observer's runs have its name.
   */
  once(name: StepName, interference: Interference, where?: StepFilter): void {
    const plans = this.#plans.get(name) ?? [];
    this.#plans.set(name, [...plans, { interference, where }]);
  }

  /** Stops before a step until the test resumes the pause; steps are chosen as in {@link once}. */
  pauseBefore(name: StepName, where?: StepFilter): Pause {
    const pause = new Pause();
    this.once(name, pause.before, where);
    return pause;
  }

  /** Stops after a step until the test resumes the pause; steps are chosen as in {@link once}. */
  pauseAfter(name: StepName, where?: StepFilter): Pause {
    const pause = new Pause();
    this.once(name, pause.after, where);
    return pause;
  }

  /** Called by commits. */
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
