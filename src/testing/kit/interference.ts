import { StoreError } from "../../errors/index.js";
import type { StepInfo, StepName } from "../../transaction/index.js";
import type { TestProcess } from "./process.js";

/**
 * What a test does to one step of a commit. `run` performs the step and resolves to its answer. An
 * interference may call it once, twice, later or never, and may return any answer.
 */
export type Interference = (run: () => Promise<unknown>, info: StepInfo, name: StepName) => Promise<unknown>;

/** Throws or returns what a step reports to the commit if the store did not answer. */
function noAnswer(name: StepName): unknown {
  switch (name) {
    case "one-phase-commit":
      return { answer: "unknown" };
    case "commit-timestamp":
    case "validate":
      throw new StoreError(`The store did not answer the step "${name}".`, { retryable: true });
    default:
      return "unknown";
  }
}

/**
 * Performs the step unchanged. Plan it for a step that the test wants to let pass, because it means
 * a later step of the same name.
 */
export const passes: Interference = (run) => run();

/** Performs the step and loses its answer. */
export const answerLost: Interference = async (run, _info, name) => {
  await run();
  return noAnswer(name);
};

/** Does not perform the step, as if the request was lost. */
export const requestLost: Interference = async (_run, _info, name) => noAnswer(name);

/**
 * Performs the step twice, one after the other, as if the network repeated a request. Returns the
 * second answer.
 */
export const repeated: Interference = async (run) => {
  await run();
  return run();
};

/**
 * Stops the commit for good before this step. The rest of its process continues, and keeps the
 * commit's locks fresh. To stop a whole process, see {@link diesBefore}.
 */
export const stopsBefore: Interference = () => new Promise(() => {});

/** Stops the commit for good after this step. See {@link stopsBefore}. */
export const stopsAfter: Interference = async (run) => {
  await run();
  return new Promise(() => {});
};

/** Stops the whole process for good before this step. */
export function diesBefore(process: TestProcess): Interference {
  return () => {
    process.die();
    return new Promise(() => {});
  };
}

/** Stops the whole process for good after this step. */
export function diesAfter(process: TestProcess): Interference {
  return async (run) => {
    await run();
    process.die();
    return new Promise(() => {});
  };
}
