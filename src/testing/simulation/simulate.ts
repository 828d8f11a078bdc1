import { throwIfAborted } from "../../environment/index.js";
import {
  checkArgument,
  checkOptionNames,
  InvalidArgumentError,
  type OptionNames,
} from "../../errors/index.js";
import { HashSum, hashText, type SeededRandom } from "../world/index.js";
import { addCounts, noCounts, type SimulationCounts } from "./plan/counts.js";
import { type FaultKind, faultKinds } from "./plan/fault.js";
import { type SimulatedStore, simulatedStores } from "./plan/plan.js";
import { nothingLeftOut } from "./plan/reduction.js";
import { playRun } from "./play-run.js";
import { type Workload, workloadNames } from "./process/client.js";
import type { RunOptions } from "./run-result.js";
import { type ShortenedRun, shorten } from "./shorten.js";

/** How much to simulate, and with what. Each setting has a default. */
export interface SimulationSettings {
  /** Decides everything that is drawn. Default: `"1"`. */
  readonly seed?: string | undefined;
  /** Number of runs. Default: 100. */
  readonly runs?: number | undefined;
  /** Number of the first run, from 0. With `runs: 1` it plays one run again. Default: 0. */
  readonly firstRun?: number | undefined;
  /** Plays only every n-th run, so that several processes can share the work. Default: 1. */
  readonly everyRun?: number | undefined;
  /**
   * Kinds of store to draw from. Default: all. One run in 20 then uses LMDB, in a folder that the
   * simulation creates below the system's temporary folder.
   */
  readonly stores?: readonly SimulatedStore[] | undefined;
  /** Faults to draw from. Default: all. */
  readonly faults?: readonly FaultKind[] | undefined;
  /**
   * Factor by which a run may be longer than usual, from 0 to 1,000. A usual run has 1,200 events
   * and then the events of healing. Default: 1.
   */
  readonly length?: number | undefined;
  /**
   * How many times a failing run is played again to find out what it needs. Every 5,000 events of a
   * long run count as a run. 0 plays none again. Default: 400.
   */
  readonly shortening?: number | undefined;
  /** Asked before each run whether to play it. Use it to limit real time. Default: always. */
  readonly goesOn?: (() => boolean) | undefined;
  /** Called after each run with the sums so far. Default: none. */
  readonly onRun?: ((counts: SimulationCounts) => void) | undefined;
  /** Ends the simulation between two runs when it is aborted. Default: none. */
  readonly signal?: AbortSignal | undefined;
}

const settingNames: OptionNames<SimulationSettings & { readonly workload?: unknown }> = {
  seed: true,
  runs: true,
  firstRun: true,
  everyRun: true,
  stores: true,
  faults: true,
  length: true,
  shortening: true,
  goesOn: true,
  onRun: true,
  signal: true,
  workload: true,
};

/**
 * The options of {@link simulate}: a workload, or a function that creates one for each run. Use the
 * function if the workload remembers anything outside the database.
 */
export type SimulateOptions = SimulationSettings &
  (Workload | { readonly workload: (random: SeededRandom) => Workload });

/** A run that failed. */
export interface SimulationFailure {
  readonly seed: string;
  /** Number of the run. */
  readonly run: number;
  readonly message: string;
  /**
   * Whether the run had the same events and the same error when it was played again, or undefined if
   * `shortening` is 0. If false, something outside of the seed decides what happens, such as a variable that outlives
   * the run.
   */
  readonly repeats?: boolean | undefined;
  /**
   * The shortest run found that fails in the same way. Undefined if `shortening` is 0, or if the run
   * did not fail in the same way again.
   */
  readonly shortened: ShortenedRun | undefined;
}

/** The result of a simulation. */
export interface SimulationReport {
  readonly counts: SimulationCounts;
  /** The first failure, which ended the simulation. */
  readonly failure: SimulationFailure | undefined;
  /** Identifies everything that happened in all runs, in order. Equal seeds give equal hashes. */
  readonly hash: string;
}

/**
 * Plays many short runs of several processes that share a database, each run with different faults:
 * requests that are lost, late or performed twice; processes that stop or pause; wrong clocks;
 * changing leaders of the oracle.
 *
 * The real code runs, time is virtual, and the seed decides everything. After each event the
 * simulation checks every invariant of the protocol. At the end of each run it ends all faults,
 * lets a process finish the work, and checks that no work is left. The simulation ends at the first
 * failure.
 *
 * @throws InvalidArgumentError if an option is invalid.
 * @throws AbortedError if the signal is aborted.
 *
 * @example
 * const { failure, counts } = await simulate({
 *   runs: 1_000,
 *   tables: [documents],
 *   observers: [wordCount],
 *   clients: [
 *     async ({ step, db }) => {
 *       for (let n = 0; n < 10; n++) await step(`write ${n}`, () => db.transact((tx) => tx.set(documents.text, "a", `${n}`)));
 *     },
 *   ],
 *   check: async (db) => expectWordsToAgree(db),
 * });
 * if (failure !== undefined) throw new Error(showFailure(failure));
 */
export async function simulate(options: SimulateOptions): Promise<SimulationReport> {
  checkArgument("simulate", "an object of options", options, typeof (options ?? 0) === "object");
  const { seed = "1", runs = 100, firstRun = 0, everyRun = 1, goesOn = () => true, signal } = options;
  check(options);
  const counts = noCounts();
  const hashes: string[] = [];
  for (let index = 0; index < runs && goesOn(); index++) {
    if (signal !== undefined) throwIfAborted(signal, "The simulation");
    const run = runOptions(options, seed, firstRun + index * everyRun);
    const result = await playRun(run);
    addCounts(counts, result.counts);
    hashes.push(result.hash);
    options.onRun?.(counts);
    if (result.failure === undefined) continue;
    const { shortening = 400 } = options;
    const replay =
      shortening === 0 ? { shortened: undefined } : await shorten(run, result, { most: shortening, signal });
    const failure = { seed, run: run.number, message: result.failure, ...replay };
    return { counts, failure, hash: hashOf(hashes) };
  }
  return { counts, failure: undefined, hash: hashOf(hashes) };
}

function runOptions(options: SimulateOptions, seed: string, number: number): RunOptions {
  return {
    seed,
    number,
    workload: "workload" in options ? (random) => checked(options.workload(random)) : () => options,
    stores: options.stores ?? simulatedStores,
    faults: options.faults ?? faultKinds,
    length: options.length ?? 1,
    reduction: nothingLeftOut,
  };
}

function checked(workload: Workload): Workload {
  checkOptionNames("workload of simulate", workload, workloadNames);
  return workload;
}

function hashOf(hashes: readonly string[]): string {
  if (hashes.length === 1) return hashes[0]!;
  const sum = new HashSum();
  sum.add(hashText(hashes.join()));
  return sum.toString();
}

function check(options: SimulateOptions): void {
  const names = "workload" in options ? settingNames : { ...settingNames, ...workloadNames };
  checkOptionNames<SimulationSettings & { readonly workload?: unknown }>("simulate", options, names);
  if (!("workload" in options) && !Array.isArray(options.clients))
    throw new InvalidArgumentError("`simulate` needs `clients`, an array of programs, or a `workload`.");
  whole("runs", options.runs ?? 1, 0);
  whole("firstRun", options.firstRun ?? 0, 0);
  whole("everyRun", options.everyRun ?? 1, 1);
  whole("shortening", options.shortening ?? 0, 0);
  const { length = 1 } = options;
  if (!(length > 0 && length <= 1_000))
    throw new InvalidArgumentError(`\`length\` must be a number from 0 to 1,000, not ${String(length)}.`);
  among("stores", options.stores, simulatedStores);
  among("faults", options.faults, faultKinds);
  if (options.stores?.length === 0)
    throw new InvalidArgumentError("`stores` must name one kind of store at least.");
}

function whole(option: string, value: number, least: number): void {
  if (Number.isSafeInteger(value) && value >= least) return;
  throw new InvalidArgumentError(
    `\`${option}\` must be a whole number of at least ${least}, not ${String(value)}.`,
  );
}

function among(option: string, given: readonly string[] | undefined, known: readonly string[]): void {
  const unknown = given?.find((each) => !known.includes(each));
  if (unknown === undefined) return;
  throw new InvalidArgumentError(
    `\`${option}\` does not know ${JSON.stringify(unknown)}: ${known.join(", ")}.`,
  );
}
