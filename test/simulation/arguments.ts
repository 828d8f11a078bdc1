import { parseArgs } from "node:util";
import { type FaultKind, faultKinds, type SimulatedStore, simulatedStores } from "percolatordb/testing";

/** The parsed command line. */
export interface Arguments {
  readonly runs: number;
  readonly seed: string;
  /** The single run to play. */
  readonly run: number | undefined;
  readonly minutes: number;
  readonly processes: number;
  readonly length: number;
  readonly stores: readonly SimulatedStore[] | undefined;
  readonly faults: readonly FaultKind[] | undefined;
  readonly shortening: number;
}

const options = {
  runs: { type: "string" },
  seed: { type: "string", default: "1" },
  run: { type: "string" },
  minutes: { type: "string" },
  processes: { type: "string", default: "2" },
  length: { type: "string", default: "1" },
  store: { type: "string", multiple: true },
  fault: { type: "string", multiple: true },
  shortening: { type: "string", default: "400" },
} as const;

export const usage = `npm run simulate -- [--runs 20000] [--seed TEXT] [--minutes M] [--run N] [--length L]
  [--store ${simulatedStores.join("|")}]... [--fault KIND]... [--processes 2] [--shortening 400]

Simulates many short runs, each with different faults. For a failure it prints the shortest run found with the
same failure. Kinds of faults: ${faultKinds.join(", ")}.`;

/** Parses the command line. Throws for unknown arguments. */
export function readArguments(args: readonly string[]): Arguments {
  const { values } = parseArgs({ args: [...args], options });
  const minutes = values.minutes === undefined ? Number.POSITIVE_INFINITY : number("minutes", values.minutes);
  const usual = values.minutes === undefined ? 20_000 : Number.MAX_SAFE_INTEGER;
  return {
    runs: values.runs === undefined ? usual : number("runs", values.runs),
    seed: values.seed,
    run: values.run === undefined ? undefined : number("run", values.run),
    minutes,
    processes: number("processes", values.processes),
    length: number("length", values.length),
    stores: among("store", values.store, simulatedStores),
    faults: among("fault", values.fault, faultKinds),
    shortening: number("shortening", values.shortening),
  };
}

function number(name: string, text: string): number {
  const value = Number(text);
  if (text.trim() !== "" && Number.isFinite(value) && value >= 0) return value;
  throw new TypeError(`--${name} must be a number, not "${text}".`);
}

function among<T extends string>(
  name: string,
  given: readonly string[] | undefined,
  known: readonly T[],
): readonly T[] | undefined {
  return given?.map((text) => {
    const found = known.find((each) => each === text);
    if (found !== undefined) return found;
    throw new TypeError(`--${name} must be one of ${known.join(", ")}, not "${text}".`);
  });
}
