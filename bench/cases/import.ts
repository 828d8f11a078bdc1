import { execFile, spawnSync } from "node:child_process";
import { copyFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { WrongResultError } from "../harness/compare.js";
import { type BenchCase, type CaseFigure, figureOf } from "./bench.js";

const root = fileURLToPath(new URL("../../", import.meta.url));

/** The arguments of a Node process, and its expected output. */
interface Started {
  readonly name: string;
  readonly args: readonly string[];
  readonly prints: RegExp;
  /** The most CPU time beyond that of a bare Node process, in milliseconds. */
  readonly maxMs?: number;
}

/**
 * A script that Node runs first. At the end of the process, it writes the CPU time of all threads
 * to a pipe, in microseconds. A CommonJS script does not start the loader of ES modules, which a
 * bare Node process does not start either.
 */
const usageScript = `process.on("exit", () => {
  const { user, system } = process.cpuUsage();
  require("node:fs").writeSync(3, String(user + system));
});
`;

/**
 * The CPU time to import the package, in fresh processes. They alternate with processes that import
 * nothing.
 */
export const importing: BenchCase = {
  name: "import",
  about:
    "CPU time to import the package and to print help, in fresh processes, beyond that of a bare node -e 0",
  async run(bench) {
    bench.say("building");
    const folder = bench.newFolder("package");
    const built = await build(folder);
    const usage = join(folder, "usage.cjs");
    writeFileSync(usage, usageScript);
    const bare: Started = { name: "node -e 0", args: ["-e", "0"], prints: /^$/ };
    const started = startedProcesses(built);
    const times = new Map<Started, number[]>([bare, ...started].map((each) => [each, []]));
    // The first round does not count, because it may read its files from the disk instead of from
    // the system's cache.
    for (let round = 0; round <= bench.options.rounds; round++) {
      bench.say(`round ${round} of ${bench.options.rounds}`);
      for (const [each, ms] of times) {
        const took = measure(each, usage);
        if (round > 0) ms.push(took);
      }
    }
    const alone = times.get(bare)!;
    const figures: CaseFigure[] = [figureOf(bare.name, "ms of CPU time", alone)];
    for (const each of started) {
      const beyond = times.get(each)!.map((ms, round) => ms - alone[round]!);
      figures.push(figureOf(`${each.name}, beyond ${bare.name}`, "ms of CPU time", beyond, each.maxMs));
    }
    return { comparisons: [], figures };
  },
};

function startedProcesses(built: string): readonly Started[] {
  const url = (path: string) => JSON.stringify(pathToFileURL(join(built, "dist", path)).href);
  const evaluate = (code: string) => ["--input-type=module", "-e", code];
  const open = (location: string) =>
    `const { open } = await import(${url("index.js")}); const db = await open(${location}); await db.close();`;
  return [
    {
      name: 'import("percolatordb")',
      args: evaluate(`await import(${url("index.js")})`),
      prints: /^$/,
      maxMs: 40,
    },
    { name: 'and open("memory:")', args: evaluate(open('"memory:"')), prints: /^$/ },
    {
      name: "percolator --help",
      args: [join(built, "dist/cli/main.js"), "--help"],
      prints: /Usage: percolator/,
      maxMs: 150,
    },
  ];
}

/** Joins the sources into the modules of the published package, in a folder. */
async function build(folder: string): Promise<string> {
  // The last --outdir counts.
  const args = ["run", "build:modules", "--", `--outdir=${join(folder, "dist")}`];
  await promisify(execFile)("npm", args, { cwd: root });
  copyFileSync(join(root, "package.json"), join(folder, "package.json"));
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
  return folder;
}

/** Runs a process, and returns its CPU time in milliseconds. */
function measure({ name, args, prints }: Started, usage: string): number {
  const { status, output } = spawnSync(process.execPath, ["--require", usage, ...args], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "pipe", "pipe"],
  });
  const [, stdout, stderr, us] = output;
  if (status === 0 && prints.test(stdout!)) return Number(us) / 1_000;
  throw new WrongResultError(`${name} ended with ${status}: ${stdout}${stderr}`);
}
