import { collectionMutants } from "./collection.js";
import { commitMutants } from "./commit.js";
import { expiryMutants } from "./expiry.js";
import { feedMutants } from "./feeds.js";
import { loadMutants } from "./loads.js";
import type { Mutant } from "./mutant.js";
import { observerMutants } from "./observers.js";
import { oracleMutants } from "./oracle.js";
import { settledMutants } from "./settled.js";
import { wireMutants } from "./wire.js";

export type { Mutant } from "./mutant.js";

/** Every mutant of protocol §9, and some more. */
export const mutants: readonly Mutant[] = [
  ...commitMutants,
  ...collectionMutants,
  ...expiryMutants,
  ...feedMutants,
  ...loadMutants,
  ...observerMutants,
  ...oracleMutants,
  ...settledMutants,
  ...wireMutants,
];
