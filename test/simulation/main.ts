/**
 * Simulates many short runs, each with different faults: `npm run simulate -- --help`. For a failure it prints the shortest run found with the same failure, and
 * the command that plays it again.
 */
import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import { addCounts, noCounts, type SimulationCounts, showFailure } from "percolatordb/testing";
import { endWithParent } from "../support/end-with-parent.js";
import { type Arguments, readArguments, usage } from "./arguments.js";
import { type PartMessage, playPart } from "./part.js";
import { showCounts } from "./show-counts.js";

const printEveryMs = 10_000;
const partVariable = "SIMULATION_PART";

const part = process.env[partVariable];
const given = argumentsOrHelp();
const say = (text: string) => process.stdout.write(`${text}\n`);

if (part === undefined) {
  await playAll(given);
} else {
  endWithParent();
  await playPart(given, Number(part), (message) => process.send?.(message, () => letGo(message)));
}

/** Ends the process with the usage if the arguments ask for it, or are wrong. */
function argumentsOrHelp(): Arguments {
  const args = process.argv.slice(2);
  const isHelp = args.includes("--help");
  try {
    if (!isHelp) return readArguments(args);
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n`);
  }
  process.stdout.write(`${usage}\n`);
  process.exit(isHelp ? 0 : 2);
}

/** Disconnects after the last message. The connection to its parent would keep a process alive. */
function letGo({ isOver }: PartMessage): void {
  if (isOver) process.disconnect();
}

async function playAll(all: Arguments): Promise<void> {
  const startedAt = performance.now();
  const parts = Array.from({ length: all.run === undefined ? all.processes : 1 }, () => noCounts());
  const seconds = () => ((performance.now() - startedAt) / 1_000).toFixed(0);
  say(`Seed ${JSON.stringify(all.seed)}.`);
  const printing = setInterval(() => {
    const { runs, events, commits } = sumOf(parts);
    say(`${seconds()} s: ${runs} runs, ${events} events, ${commits} commits`);
  }, printEveryMs);
  const ends = await Promise.all(parts.map((_, index) => playChild(index, parts)));
  clearInterval(printing);
  say(showCounts(sumOf(parts)));
  const failure = ends.find((each) => each !== undefined);
  if (failure === undefined) {
    say(`No violation; ${seconds()} s.`);
    return;
  }
  say(failure);
  process.exitCode = 1;
}

/** Plays a part in a separate process. Returns its failures as text. */
function playChild(index: number, parts: SimulationCounts[]): Promise<string | undefined> {
  return new Promise((resolve) => {
    const child = fork(fileURLToPath(import.meta.url), process.argv.slice(2), {
      env: { ...process.env, [partVariable]: String(index) },
    });
    let end: PartMessage | undefined;
    child.on("message", (message: PartMessage) => {
      parts[index] = message.counts;
      if (message.isOver) end = message;
    });
    child.on("exit", (code) => {
      if (end === undefined)
        resolve(`A process of the simulation ended with code ${code}; its runs are not over.`);
      else if (end.failure === undefined) resolve(undefined);
      else resolve(`${showFailure(end.failure)}\n\nAgain: ${commandOf(end.failure.run)}`);
    });
  });
}

function commandOf(run: number): string {
  const kept = [`--seed ${given.seed}`, `--run ${run}`];
  if (given.length !== 1) kept.push(`--length ${given.length}`);
  for (const store of given.stores ?? []) kept.push(`--store ${store}`);
  for (const fault of given.faults ?? []) kept.push(`--fault ${fault}`);
  return `npm run simulate -- ${kept.join(" ")}`;
}

function sumOf(parts: readonly SimulationCounts[]): SimulationCounts {
  const sum = noCounts();
  for (const counts of parts) addCounts(sum, counts);
  return sum;
}
