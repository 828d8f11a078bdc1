import { type ExploreReport, explore } from "../../src/testing/exploration/index.js";
import { endWithParent } from "../support/end-with-parent.js";
import { allPrograms, type Job, type JobReport } from "./jobs.js";
import { mutants } from "./mutants/index.js";
import { exploreMutant } from "./mutants/run.js";

/** Explores one job after another, until the parent sends no more. */
process.on("message", (job: Job) => {
  void run(job).then(
    (report) => process.send!(report),
    (error: unknown) => {
      process.send!(failed(job, error));
    },
  );
});

async function run(job: Job): Promise<JobReport> {
  const startedAt = performance.now();
  const report = job.kind === "program" ? await exploreProgram(job) : await exploreTheMutant(job);
  const seconds = (performance.now() - startedAt) / 1_000;
  const isRight = job.kind === "program" ? isSound(job, report) : report.violation !== undefined;
  return { ...figures(job, report), seconds, isRight, note: noteOf(job, report) };
}

function isSound({ maxStates = Number.POSITIVE_INFINITY }: Job, report: ExploreReport): boolean {
  return report.violation === undefined && (report.complete || report.states >= maxStates);
}

function exploreProgram({ key, faults, maxStates = 50_000_000 }: Job): Promise<ExploreReport> {
  const program = allPrograms().get(key)!;
  return explore(faults === undefined ? program : { ...program, faults }, { maxStates });
}

function exploreTheMutant({ key }: Job): Promise<ExploreReport> {
  return exploreMutant(mutants.find((mutant) => mutant.name === key)!);
}

function figures({ kind, name }: Job, report: ExploreReport) {
  const { states, transitions, ends, depth, violation } = report;
  return { kind, name, states, transitions, ends, depth, trace: violation?.trace ?? [] };
}

function noteOf({ kind, key }: Job, { violation, complete }: ExploreReport): string {
  const message = violation?.message.split("\n")[0];
  if (kind === "program") return message === undefined ? (complete ? "" : ", in part") : `: ${message}`;
  const { killedBy } = mutants.find((mutant) => mutant.name === key)!;
  if (message === undefined) return `: NOT FOUND by ${killedBy}`;
  return `: found by ${killedBy} in ${violation!.steps.length} steps: ${message}`;
}

function failed({ kind, name }: Job, error: unknown): JobReport {
  const note = `: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`;
  return {
    kind,
    name,
    note,
    isRight: false,
    states: 0,
    transitions: 0,
    ends: 0,
    depth: 0,
    seconds: 0,
    trace: [],
  };
}

endWithParent();
