import type { CommitHooks, StepInfo, StepName } from "../../src/transaction/index.js";

/** What a test does to one step: it may run it, not run it, and answer as it likes. */
export type Interference = (run: () => Promise<unknown>, info: StepInfo) => Promise<unknown>;

/** Hooks that count steps and let a test interfere with the next ones of a name. */
export class FaultHooks implements CommitHooks {
  readonly seen: { readonly name: StepName; readonly info: StepInfo }[] = [];
  readonly #plans = new Map<StepName, Interference[]>();

  /** Interferes with the next step of this name that no earlier plan takes. */
  once(name: StepName, interference: Interference): void {
    this.#plans.set(name, [...(this.#plans.get(name) ?? []), interference]);
  }

  step<T>(name: StepName, info: StepInfo, run: () => Promise<T>): Promise<T> {
    this.seen.push({ name, info });
    const [next, ...rest] = this.#plans.get(name) ?? [];
    if (next === undefined) return run();
    this.#plans.set(name, rest);
    return next(run, info) as Promise<T>;
  }

  count(name: StepName): number {
    return this.seen.filter((step) => step.name === name).length;
  }
}

/** The request was applied, and its answer lost. */
export const answerLost: Interference = async (run) => {
  await run();
  return "unknown";
};

/** The request was lost. */
export const requestLost: Interference = async () => "unknown";

/** The client stops for good at this step; the promise never settles. */
export const stopsForGood: Interference = () => new Promise(() => {});

/** The client stops for good after this step was applied. */
export const stopsAfter: Interference = async (run) => {
  await run();
  return new Promise(() => {});
};
