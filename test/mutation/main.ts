import { execFileSync } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { constants } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import type { Candidate } from "./candidates.js";
import { Compiler } from "./compile.js";
import { allCandidates, drawn, isParsed } from "./draw.js";
import { whyEquivalent } from "./equivalent.js";
import { Copy, type Verdict } from "./run.js";
import { quickSuites, wideSuites } from "./suites.js";

const help = `Makes small mistakes in the source, one at a time and in a copy, and counts how many the tests find.

  npm run mutate -- [options]

  --seed TEXT    decides which mutants are drawn; default 1
  --count N      how many; default 30
  --skip N       passes over the first N of the seed; default 0
  --only TEXT    only mutants of places that contain TEXT, such as src/oracle or src/transaction/core.ts:12
  --quick        without the wide suites: kills of processes, simulation, exploration, other rooms
  --list         shows them and runs nothing
  --root FOLDER  the project; default this one

Writes bench/results/mutation-SEED-SKIP.json. Exits with 1 if a mutant survived. SIGINT and SIGTERM
end what runs, and remove the copy.
`;

const { values } = parseArgs({
  options: {
    seed: { type: "string", default: "1" },
    count: { type: "string", default: "30" },
    skip: { type: "string", default: "0" },
    only: { type: "string" },
    quick: { type: "boolean", default: false },
    list: { type: "boolean", default: false },
    root: { type: "string", default: fileURLToPath(new URL("../../", import.meta.url)) },
    help: { type: "boolean", default: false },
  },
});

const root = resolve(values.root);
const interrupted = new AbortController();
const print = (line: string) => process.stdout.write(`${line}\n`);

function whole(name: "count" | "skip"): number {
  const value = Number(values[name]);
  if (!Number.isSafeInteger(value) || value < 0)
    throw new Error(`--${name} takes a whole number, and not "${values[name]}".`);
  return value;
}

function placeOf({ path, line }: Candidate): string {
  return `${path}:${line}`;
}

async function chosen(): Promise<readonly Candidate[]> {
  const order = drawn(await allCandidates(root), values.seed);
  const wanted = order.filter(
    (each) => values.only === undefined || `${placeOf(each)} `.includes(values.only),
  );
  const found: Candidate[] = [];
  for (const candidate of wanted) {
    if (found.length === whole("skip") + whole("count")) break;
    if (await isParsed(root, candidate)) found.push(candidate);
  }
  return found.slice(whole("skip"));
}

function rowOf(verdict: Verdict): string {
  const { candidate, seconds } = verdict;
  return `| \`${placeOf(candidate)}\` | ${candidate.kind} | \`${candidate.change}\` | ${wordsOf(verdict)} | ${seconds} |`;
}

function wordsOf({ outcome, test, isHang, message }: Verdict): string {
  if (outcome !== "killed") return message === undefined ? outcome : `${outcome}: ${message}`;
  return isHang === true ? `killed by a deadline: ${test} does not end` : `killed by ${test}`;
}

async function judge(copy: Copy, compiler: Compiler, candidate: Candidate): Promise<Verdict> {
  const why = whyEquivalent(candidate);
  if (why !== undefined) return { candidate, outcome: "equivalent", message: why, seconds: 0 };
  const error = compiler.errorOf(candidate);
  if (error !== undefined) return { candidate, outcome: "does not compile", message: error, seconds: 0 };
  const wide = values.quick ? [] : wideSuites(candidate.path);
  return copy.judge(candidate, [...(await quickSuites(root, candidate.path)), ...wide], print);
}

async function judgeAll(candidates: readonly Candidate[]): Promise<readonly Verdict[]> {
  const verdicts: Verdict[] = [];
  const commit = execFileSync("git", ["rev-parse", "--short", "HEAD"], {
    cwd: root,
    encoding: "utf8",
  }).trim();
  const results = join(root, "bench", "results");
  await mkdir(results, { recursive: true });
  const path = join(results, `mutation-${values.seed.replaceAll(/[^\w-]/g, "_")}-${whole("skip")}.json`);
  const compiler = new Compiler(root);
  await using copy = await Copy.of(root, { signal: interrupted.signal });
  for (const [i, candidate] of candidates.entries()) {
    interrupted.signal.throwIfAborted();
    print(`${whole("skip") + i + 1}. ${placeOf(candidate)}, ${candidate.kind}: ${candidate.change}`);
    const verdict = await judge(copy, compiler, candidate);
    verdicts.push(verdict);
    print(`  ${wordsOf(verdict)}, ${verdict.seconds} s`);
    await writeFile(path, `${JSON.stringify({ commit, seed: values.seed, verdicts }, undefined, 2)}\n`);
  }
  print(`\nCommit ${commit}, seed ${values.seed}.\n`);
  return verdicts;
}

async function run(): Promise<void> {
  const verdicts = await judgeAll(await chosen());
  print("| place | kind | change | what became of it | s |\n| --- | --- | --- | --- | ---: |");
  for (const verdict of verdicts) print(rowOf(verdict));
  const count = (outcome: Verdict["outcome"]) => verdicts.filter((each) => each.outcome === outcome).length;
  const [killed, survived] = [count("killed"), count("survived")];
  const hung = verdicts.filter(({ isHang }) => isHang === true).length;
  print(
    `\n${killed} of ${killed + survived} mutants killed, ${hung} of them by a deadline alone; ` +
      `besides ${count("equivalent")} that change nothing, and ${count("does not compile")} that do not compile.`,
  );
  process.exitCode = survived === 0 && killed > 0 ? 0 : 1;
}

if (values.help) {
  print(help);
} else if (values.list) {
  for (const candidate of await chosen())
    print(`${placeOf(candidate)}, ${candidate.kind}: ${candidate.change}`);
} else {
  for (const name of ["SIGINT", "SIGTERM"] as const) process.once(name, () => interrupted.abort(name));
  try {
    await run();
  } catch (error) {
    if (!interrupted.signal.aborted) throw error;
    const name = interrupted.signal.reason as "SIGINT" | "SIGTERM";
    print(`Ended by ${name}; the copy was removed.`);
    process.exitCode = 128 + constants.signals[name];
  }
}
