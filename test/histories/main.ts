/**
 * Runs clients in several processes on one database with faults, records their histories in
 * Jepsen's format for Elle, and judges them. See docs/testing.md.
 */
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { gunzipSync, gzipSync } from "node:zlib";
import { buildForCommand } from "../support/built/files.js";
import { type Anomaly, judge } from "./checker/judge.js";
import { promised } from "./checker/models.js";
import { readEdn, writeEdn } from "./edn.js";
import type { Fault } from "./faults.js";
import type { Operation } from "./operations.js";
import { type Command, parseCommand, UsageError, usage } from "./options.js";
import { playHistory } from "./run.js";

const say = (text: string) => process.stdout.write(`${text}\n`);

function showFault({ victim, ...fault }: Fault): string {
  const whom =
    victim === "leader"
      ? "the leading coordinator"
      : victim === "server"
        ? "the server"
        : `process ${victim}`;
  const { type, ...more } = fault;
  return `${type} ${whom}${Object.keys(more).length === 0 ? "" : ` ${JSON.stringify(more)}`}`;
}

/** Prints the judgement of a history. Returns whether it satisfies the promise. */
function report(
  name: string,
  operations: readonly Operation[],
  { isolation }: Pick<Command, "isolation">,
): boolean {
  const model = promised[isolation];
  const began = performance.now();
  const { anomalies, allowed, holds, committed, failed, unknown } = judge(operations, model);
  const seconds = ((performance.now() - began) / 1_000).toFixed(1);
  const processes = new Set(operations.map(({ process }) => process)).size;
  say(
    `${name}: ${committed} committed, ${failed} failed, ${unknown} of unknown outcome, ${processes} process numbers; ` +
      `judged in ${seconds} s`,
  );
  const list = (found: readonly Anomaly[]) => found.map(({ kind, count }) => `${kind} ${count}`).join(", ");
  if (allowed.length > 0) say(`  allowed by ${model}: ${list(allowed)}`);
  say(`  anomalies: ${anomalies.length === 0 ? "none" : list(anomalies)}`);
  for (const { kind, examples } of anomalies) {
    for (const example of examples) say(`  ${kind}: ${example.replaceAll("\n", "\n  ")}`);
  }
  say(`  holds: ${holds.join(", ") || "none of the models"}`);
  return anomalies.length === 0;
}

async function play(command: Command): Promise<boolean> {
  buildForCommand();
  const { store, commit, isolation, processes, seconds, seed, out, compress } = command;
  say(`${store}, commit ${commit}, ${isolation}, ${processes} processes, ${seconds} s, seed ${seed}`);
  const onFault = (fault: Fault, atMs: number) => say(`${(atMs / 1_000).toFixed(1)} s: ${showFault(fault)}`);
  const { histories, problems } = await playHistory({ ...command, onFault });
  say(`what observers derived, and \`check\`: ${problems.length === 0 ? "sound" : "NOT SOUND"}`);
  for (const problem of problems) say(`  ${problem}`);
  await mkdir(out, { recursive: true });
  let isSound = problems.length === 0;
  for (const [workload, operations] of histories) {
    const name = `${store}-${commit}-${isolation}-${workload}.edn${compress ? ".gz" : ""}`;
    const edn = writeEdn(operations);
    await writeFile(join(out, name), compress ? gzipSync(edn, { level: 9 }) : edn);
    // Judges what was written to the file.
    if (!report(name, readEdn(edn), command)) isSound = false;
  }
  return isSound;
}

async function judgeFiles(command: Command): Promise<boolean> {
  let isSound = true;
  for (const file of command.files) {
    const bytes = await readFile(file);
    const edn = (file.endsWith(".gz") ? gunzipSync(bytes) : bytes).toString("utf8");
    if (!report(basename(file), readEdn(edn), command)) isSound = false;
  }
  return isSound;
}

if (process.argv.includes("--help")) {
  say(usage);
  process.exit();
}
try {
  const command = parseCommand(process.argv.slice(2));
  const isSound = await (command.files.length > 0 ? judgeFiles(command) : play(command));
  process.exitCode = isSound ? 0 : 1;
} catch (error) {
  if (!(error instanceof UsageError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 2;
}
