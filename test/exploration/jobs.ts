import type { FaultBudget, Program } from "../../src/testing/exploration/index.js";
import { largerBudgets, largerPrograms, partlyExplored } from "./larger.js";
import { mutants } from "./mutants/index.js";
import * as programs from "./programs/index.js";

/** A job to explore. The process that explores it finds the program or the mutant by `key`. */
export interface Job {
  readonly kind: "program" | "mutant";
  readonly name: string;
  /** For a program: its key among the programs. */
  readonly key: string;
  readonly faults?: FaultBudget | undefined;
  /**
   * For a program: the most states to explore. If there are more, it counts as partly explored.
   * Default: all.
   */
  readonly maxStates?: number | undefined;
}

export interface JobReport {
  readonly kind: Job["kind"];
  readonly name: string;
  /** For a program: every explored interleaving is sound. For a mutant: it was found. */
  readonly isRight: boolean;
  readonly states: number;
  readonly transitions: number;
  readonly ends: number;
  readonly depth: number;
  readonly seconds: number;
  readonly note: string;
  readonly trace: readonly string[];
}

export interface JobSelection {
  readonly larger?: boolean | undefined;
  readonly mutants?: boolean | undefined;
  /** Only mutants that `npm test` does not explore. Default: all. */
  readonly besideTests?: boolean | undefined;
  readonly only?: string | undefined;
  readonly maxStates?: number | undefined;
}

/** Returns all programs, by key. */
export function allPrograms(): ReadonlyMap<string, Program> {
  const found = new Map<string, Program>();
  for (const [key, value] of Object.entries(programs)) if (isProgram(value)) found.set(key, value);
  return found;
}

function isProgram(value: unknown): value is Program {
  return typeof value === "object" && value !== null && "clients" in value && "name" in value;
}

function showFaults(faults: FaultBudget): string {
  return Object.entries(faults)
    .map(([kind, count]) => `${kind} ${count}`)
    .join(", ");
}

/** Returns the jobs to explore. */
export function listJobs(selection: JobSelection = {}): readonly Job[] {
  const { larger, mutants: withMutants = true, besideTests = false, only, maxStates } = selection;
  const jobs: Job[] = [];
  for (const [key, { name, faults }] of allPrograms()) {
    if (largerPrograms.has(key) && !larger) continue;
    jobs.push({
      kind: "program",
      name: faults === undefined ? name : `${name} (${showFaults(faults)})`,
      key,
      maxStates: maxStates ?? (larger ? undefined : partlyExplored.get(key)),
    });
    for (const budget of larger ? (largerBudgets[key] ?? []) : [])
      jobs.push({
        kind: "program",
        name: `${name} (${showFaults(budget)})`,
        key,
        faults: budget,
        maxStates,
      });
  }
  for (const { name, takesLong } of withMutants ? mutants : []) {
    if (besideTests && takesLong !== true) continue;
    jobs.push({ kind: "mutant", name, key: name });
  }
  return only === undefined ? jobs : jobs.filter(({ name, key }) => `${key} ${name}`.includes(only));
}
