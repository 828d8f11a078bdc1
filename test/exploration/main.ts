import { fork } from "node:child_process";
import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import type { Job, JobReport } from "./jobs.js";
import { listJobs } from "./jobs.js";

const help = `Tries every interleaving of small programs on the code that ships, and demands that every mutant is found.

  npm run explore -- [options]

  --only TEXT       programs and mutants whose names contain TEXT
  --larger          larger budgets of faults too: takes hours
  --no-mutants      programs only
  --beside-tests    without the mutants that npm test tries
  --max-states N    programs of more states only in part
  --processes N     default: as many as there are cores
  --traces          the shortest way to each mutant's end, line by line
`;

const { values } = parseArgs({
  options: {
    only: { type: "string" },
    larger: { type: "boolean", default: false },
    mutants: { type: "boolean", default: true },
    "beside-tests": { type: "boolean", default: false },
    "max-states": { type: "string" },
    processes: { type: "string" },
    traces: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
  allowNegative: true,
});

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

if (values.help) {
  print(help);
  process.exit(0);
}

/** At most this many lines of a trace are printed: the last lines. */
const maxLines = 60;
const maxStates = values["max-states"] === undefined ? undefined : Number(values["max-states"]);
const jobs = listJobs({
  larger: values.larger,
  mutants: values.mutants,
  besideTests: values["beside-tests"],
  only: values.only,
  maxStates,
});
const processes = Math.max(1, Number(values.processes ?? availableParallelism()));
const queue = [...jobs];
const reports: JobReport[] = [];
const startedAt = performance.now();

/** One process explores one job after another. */
function work(): Promise<void> {
  const child = fork(fileURLToPath(new URL("./child.ts", import.meta.url)), {
    // The young generation must have room for the garbage of one state. With Node's default size,
    // garbage collection takes a quarter of the time.
    execArgv: ["--max-semi-space-size=128", "--import", "tsx"],
  });
  return new Promise((resolve, reject) => {
    let current: Job | undefined;
    const goOn = () => {
      current = queue.shift();
      if (current === undefined) child.disconnect();
      else child.send(current);
    };
    child.on("message", (report: JobReport) => {
      reports.push(report);
      print(show(report));
      goOn();
    });
    child.on("exit", (code) => {
      if (current === undefined) resolve();
      else reject(new Error(`The process that explored "${current.name}" ended with ${code}.`));
    });
    goOn();
  });
}

function show({
  name,
  kind,
  isRight,
  states,
  transitions,
  ends,
  depth,
  seconds,
  note,
  trace,
}: JobReport): string {
  const figures = `${states} states, ${transitions} steps, ${ends} ends, depth ${depth}, ${seconds.toFixed(1)} s`;
  const lines = values.traces || !isRight ? trace.slice(-maxLines).map((line) => `      ${line}`) : [];
  return [`${isRight ? "ok  " : "FAIL"} ${kind} ${name}: ${figures}${note}`, ...lines].join("\n");
}

await Promise.all(Array.from({ length: Math.min(processes, jobs.length) }, () => work()));
const wrong = reports.filter((report) => !report.isRight);
const total = (select: (report: JobReport) => number) =>
  reports.reduce((sum, report) => sum + select(report), 0);
const count = (kind: Job["kind"]) => reports.filter((report) => report.kind === kind).length;
print(
  `${count("program")} programs and ${count("mutant")} mutants: ${total((each) => each.states)} states, ` +
    `${total((each) => each.transitions)} steps, ${wrong.length} wrong, ${((performance.now() - startedAt) / 1_000).toFixed(0)} s on ` +
    `${processes} processes (Node ${process.version})`,
);
process.exit(wrong.length === 0 && reports.length > 0 ? 0 : 1);
