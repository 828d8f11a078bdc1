import { StoreError } from "../../errors/index.js";
import type { StepInfo, StepName } from "../../transaction/index.js";
import type { TestProcess } from "./process.js";

/**
 * What a test does to one step of a commit: `run` does the step and resolves to its answer. An interference may run it, not run it,
 * run it twice or later, and answer as it likes.
 */
export type Interference = (run: () => Promise<unknown>, info: StepInfo, name: StepName) => Promise<unknown>;

/** What whoever does a step is told where no answer comes. */
function noAnswer(name: StepName): unknown {
  switch (name) {
    case "one-phase-commit":
      return { answer: "unknown" };
    case "commit-timestamp":
    case "validate":
      throw new StoreError(`No answer came to the step "${name}".`, { retryable: true });
    default:
      return "unknown";
  }
}

/** Nothing: for a step that is to be let be, where a later one of its name is meant. */
export const passes: Interference = (run) => run();

/** The step is done, and its answer lost. */
export const answerLost: Interference = async (run, _info, name) => {
  await run();
  return noAnswer(name);
};

/** The step is not done: the request was lost. */
export const requestLost: Interference = async (_run, _info, name) => noAnswer(name);

/** The step is done twice, one after the other, as by a network that repeats a request; the second answer comes. */
export const repeated: Interference = async (run) => {
  await run();
  return run();
};

/**
 * Whoever commits stops for good before this step. Only this commit: the rest of its process goes on, and keeps the
 * locks of the commit fresh. For a process that stops as a whole see {@link diesBefore}.
 */
export const stopsBefore: Interference = () => new Promise(() => {});

/** Whoever commits stops for good when this step is done; see {@link stopsBefore}. */
export const stopsAfter: Interference = async (run) => {
  await run();
  return new Promise(() => {});
};

/** The whole process stops for good before this step. */
export function diesBefore(process: TestProcess): Interference {
  return () => {
    process.die();
    return new Promise(() => {});
  };
}

/** The whole process stops for good when this step is done. */
export function diesAfter(process: TestProcess): Interference {
  return async (run) => {
    await run();
    process.die();
    return new Promise(() => {});
  };
}
