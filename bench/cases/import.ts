import { execFile, spawnSync } from "node:child_process";
import { copyFileSync, symlinkSync } from "node:fs";
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
}

/**
 * The time to import the package, in fresh processes. They alternate with processes that import
 * nothing.
 */
export const importing: BenchCase = {
  name: "import",
  about: "time to import the package and to print help, in fresh processes, beyond that of a bare node -e 0",
  async run(bench) {
    bench.say("building");
    const built = await build(bench.newFolder("package"));
    const bare: Started = { name: "node -e 0", args: ["-e", "0"], prints: /^$/ };
    const started = startedProcesses(built);
    const times = new Map<Started, number[]>([bare, ...started].map((each) => [each, []]));
    // The first round does not count, because it may read its files from the disk instead of from
    // the system's cache.
    for (let round = 0; round <= bench.options.rounds; round++) {
      bench.say(`round ${round} of ${bench.options.rounds}`);
      for (const [each, ms] of times) {
        const took = measure(each);
        if (round > 0) ms.push(took);
      }
    }
    const alone = times.get(bare)!;
    const figures: CaseFigure[] = [figureOf(bare.name, "ms", alone)];
    for (const each of started) {
      const beyond = times.get(each)!.map((ms, round) => ms - alone[round]!);
      figures.push(figureOf(`${each.name}, beyond ${bare.name}`, "ms", beyond));
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
    { name: 'import("percolatordb")', args: evaluate(`await import(${url("index.js")})`), prints: /^$/ },
    { name: 'and open("memory:")', args: evaluate(open('"memory:"')), prints: /^$/ },
    {
      name: "percolator --help",
      args: [join(built, "dist/cli/main.js"), "--help"],
      prints: /Usage: percolator/,
    },
  ];
}

/** Compiles the package into a folder, as in the published package. */
async function build(folder: string): Promise<string> {
  const compiler = join(root, "node_modules/typescript/bin/tsc");
  const args = [compiler, "-p", join(root, "tsconfig.build.json"), "--outDir", join(folder, "dist")];
  await promisify(execFile)(process.execPath, args, { cwd: root });
  copyFileSync(join(root, "package.json"), join(folder, "package.json"));
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
  return folder;
}

function measure({ name, args, prints }: Started): number {
  const began = performance.now();
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: "utf8" });
  const ms = performance.now() - began;
  if (status === 0 && prints.test(stdout)) return ms;
  throw new WrongResultError(`${name} ended with ${status}: ${stdout}${stderr}`);
}
