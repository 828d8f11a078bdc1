import type { FaultBudget } from "../../src/testing/exploration/index.js";

/** Programs that take long even with their default budget. */
export const largerPrograms: ReadonlySet<string> = new Set(["observedPrimaryInTwoPhases"]);

/**
 * Programs with so many states that `npm run explore` explores only the first ones, unless it explores
 * larger budgets too.
 */
export const partlyExplored: ReadonlyMap<string, number> = new Map([
  ["loadAndCollection", 20_000],
  ["loadAndReader", 20_000],
  ["loadAndRegistration", 20_000],
  ["loadAndSerializable", 20_000],
  ["loadAndWriter", 20_000],
  ["loadAndWriterDistant", 20_000],
  ["loadAndWriterInTwoPhases", 20_000],
  ["loadTakenOver", 50_000],
  ["loadTakenOverFilled", 50_000],
  ["loadTakenOverWithOtherRows", 50_000],
]);

/** Fault budgets that take long, by program. They are for a nightly run or a release. */
export const largerBudgets: Readonly<Record<string, readonly FaultBudget[]>> = {
  twoWritersAndAReader: [{ stops: 1 }, { lostAnswers: 1 }, { wrongGuesses: 1 }],
  twoTransfers: [{ stops: 1, wrongGuesses: 1 }, { lostAnswers: 1 }, { repeats: 1 }],
  threeWriters: [{ stops: 1 }, { lostAnswers: 1 }],
  writerAndReaderStop: [{ stops: 1, lostAnswers: 1, wrongGuesses: 1 }],
  observedPrimary: [{ stops: 1 }, { lostAnswers: 1 }, { repeats: 1 }],
  observedSecondary: [{ lostAnswers: 1 }, { stops: 1, wrongGuesses: 1 }],
  observedPush: [{ stops: 1 }],
  twoObservers: [{ stops: 1 }],
  collectionBesideObserver: [{ stops: 1 }, { lostAnswers: 1 }],
  parking: [{ stops: 1 }, { lostAnswers: 1 }],
  onePhaseBesideTwoPhase: [{ stops: 1 }, { lostAnswers: 1 }],
  registration: [{ stops: 1, lostAnswers: 1 }],
  twoLeaders: [{ lostAnswers: 1, stops: 1 }],
};
