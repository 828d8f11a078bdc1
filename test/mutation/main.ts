import { execFileSync } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import type { Candidate } from "./candidates.js";
import { allCandidates, drawn, isParsed } from "./draw.js";
import { whyEquivalent } from "./equivalent.js";
import { Copy, type Verdict } from "./run.js";
import { quickSuites, wideSuites } from "./suites.js";

const help = `Makes small mistakes in the source, one at a time and in a copy, and counts how many the tests find.

  npm run mutate -- [options]

  --seed TEXT    decides which mutants are drawn; default 1
  --count N      how many; default 30
  --skip N       passes over the first N of the seed; default 0
  --only TEXT    only mutants of places that contain TEXT, such as src/oracle or src/transaction/lock.ts:12
  --quick        without the wide suites: kills of processes, simulation, exploration, other rooms
  --list         shows them and runs nothing

Writes bench/results/mutation-SEED-SKIP.json. Exits with 1 if a mutant survived.
`;

const { values } = parseArgs({
  options: {
    seed: { type: "string", default: "1" },
    count: { type: "string", default: "30" },
    skip: { type: "string", default: "0" },
    only: { type: "string" },
    quick: { type: "boolean", default: false },
    list: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
});

const root = fileURLToPath(new URL("../../", import.meta.url));
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

function rowOf({ candidate, outcome, test, message, seconds }: Verdict): string {
  const by = outcome === "killed" ? test : outcome === "survived" ? "survived" : `equivalent: ${message}`;
  return `| \`${placeOf(candidate)}\` | ${candidate.kind} | \`${candidate.change}\` | ${by} | ${seconds} |`;
}

async function judge(copy: Copy, candidate: Candidate): Promise<Verdict> {
  const why = whyEquivalent(candidate);
  if (why !== undefined) return { candidate, outcome: "equivalent", message: why, seconds: 0 };
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
  await using copy = await Copy.of(root);
  for (const [i, candidate] of candidates.entries()) {
    print(`${whole("skip") + i + 1}. ${placeOf(candidate)}, ${candidate.kind}: ${candidate.change}`);
    const verdict = await judge(copy, candidate);
    verdicts.push(verdict);
    print(
      `  ${verdict.outcome}${verdict.test === undefined ? "" : ` by ${verdict.test}`}, ${verdict.seconds} s`,
    );
    await writeFile(path, `${JSON.stringify({ commit, seed: values.seed, verdicts }, undefined, 2)}\n`);
  }
  print(`\nCommit ${commit}, seed ${values.seed}.\n`);
  return verdicts;
}

if (values.help) {
  print(help);
} else if (values.list) {
  for (const candidate of await chosen())
    print(`${placeOf(candidate)}, ${candidate.kind}: ${candidate.change}`);
} else {
  const verdicts = await judgeAll(await chosen());
  print("| place | kind | change | killed by | s |\n| --- | --- | --- | --- | ---: |");
  for (const verdict of verdicts) print(rowOf(verdict));
  const count = (outcome: Verdict["outcome"]) => verdicts.filter((each) => each.outcome === outcome).length;
  const [killed, survived] = [count("killed"), count("survived")];
  print(
    `\n${killed} of ${killed + survived} mutants killed, besides ${count("equivalent")} that change nothing.`,
  );
  process.exitCode = survived === 0 && verdicts.length > 0 ? 0 : 1;
}
