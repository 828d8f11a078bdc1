import type { FaultBudget } from "../../src/testing/exploration/index.js";

/** Programs that take long even with their default budget. */
export const largerPrograms: ReadonlySet<string> = new Set(["observedPrimaryInTwoPhases"]);

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
