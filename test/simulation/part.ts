import {
  type SimulationCounts,
  type SimulationFailure,
  type SimulationSettings,
  simulate,
} from "percolatordb/testing";
import type { Arguments } from "./arguments.js";
import { workload } from "./workload/index.js";

/** The messages from a part of a simulation, while it runs and at its end. */
export interface PartMessage {
  readonly counts: SimulationCounts;
  readonly isOver: boolean;
  readonly failure: SimulationFailure | undefined;
}

const tellEveryMs = 1_000;

/** Plays one part of the runs: every nth run, for n processes. */
export async function playPart(
  given: Arguments,
  part: number,
  tell: (message: PartMessage) => void,
): Promise<void> {
  const { seed, run, runs, processes, minutes, length, stores, faults, shortening } = given;
  const startedAt = performance.now();
  let toldAt = startedAt;
  const settings: SimulationSettings = {
    seed,
    runs: run === undefined ? Math.ceil((runs - part) / processes) : 1,
    firstRun: run ?? part,
    everyRun: processes,
    length,
    stores,
    faults,
    shortening,
    goesOn: () => performance.now() - startedAt < minutes * 60_000,
    onRun: (counts) => {
      if (performance.now() - toldAt < tellEveryMs) return;
      toldAt = performance.now();
      tell({ counts, isOver: false, failure: undefined });
    },
  };
  const { counts, failure } = await simulate({ ...settings, workload });
  tell({ counts, isOver: true, failure });
}
