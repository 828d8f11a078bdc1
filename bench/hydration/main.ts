/** Time from a process's start to its first derived commit: `npm run hydration -- --help`. */
import { spawn } from "node:child_process";
import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build as bundle } from "esbuild";
import {
  type CommonOptions,
  runProgram,
  sayProgress,
  secondsSince,
  whole,
  withFolder,
} from "../harness/program.js";
import { build } from "./build.js";
import { describeHydration, type HydrationResult, isRightHydration, type Started } from "./figure.js";
import type { Shape } from "./tables.js";

type Options = CommonOptions & Shape & { readonly rounds: number };
type Side = "first" | "drain" | "replay" | "compare";

await runProgram<Options, HydrationResult>({
  name: "hydration",
  about:
    "Time from the start of a process to its first derived commit, on a database with waiting changes, beside an engine that holds the derived table in memory and must rebuild it first.",
  examples: ["hydration", "hydration -- --rows 10000000 --waiting 100000 --json hydration.json"],
  wrongIf: "a derived total is wrong in the end",
  define: (command) =>
    command
      .option("--rows <number>", "orders whose totals are derived already", whole, 1_000_000)
      .option("--waiting <number>", "orders that wait for the observer", whole, 100_000)
      .option("--rounds <number>", "starts of each side, in turns", whole, 5),
  measure: ({ json: _, data, args: __, ...options }) =>
    withFolder("hydration", (folder) => measure(folder, options), data),
  describe: describeHydration,
  isRight: isRightHydration,
});

async function measure(
  folder: string,
  options: Shape & { readonly rounds: number },
): Promise<HydrationResult> {
  const database = join(folder, "data");
  const began = performance.now();
  await build(database, options);
  const buildSeconds = secondsSince(began);
  const script = await bundled(folder);
  const start = (side: Side) => run(script, side, database);
  const incremental: Started[] = [];
  const inMemory: Started[] = [];
  for (let round = 1; round <= options.rounds; round++) {
    sayProgress(`round ${round} of ${options.rounds}`);
    incremental.push(await start("first"));
    inMemory.push(await start("replay"));
  }
  sayProgress("all waiting changes");
  const drained = await start("drain");
  const { wrong = 0 } = await start("compare");
  return { options, buildSeconds, incremental, inMemory, drained, wrong };
}

/**
 * Joins the measured process with the package, as `npm run build` joins the package, because
 * compiling TypeScript would be most of its start.
 */
async function bundled(folder: string): Promise<string> {
  const root = fileURLToPath(new URL("../../", import.meta.url));
  const outfile = join(folder, "process.mjs");
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
  await bundle({
    entryPoints: [fileURLToPath(new URL("./process.ts", import.meta.url))],
    outfile,
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node20.19",
    tsconfig: join(root, "tsconfig.json"),
    external: ["lmdb", "sorted-btree", "@grpc/*", "protobufjs", "google-auth-library"],
    logLevel: "error",
  });
  return outfile;
}

/** Runs one process to its end, and reads what it found. */
function run(script: string, side: Side, database: string): Promise<Started> {
  return new Promise((resolve, reject) => {
    let printed = "";
    const child = spawn(process.execPath, [script, side, database, String(Date.now())], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      printed += text;
    });
    child.once("error", reject);
    child.once("close", (code) => {
      if (code === 0) resolve(JSON.parse(printed) as Started);
      else reject(new Error(`The process "${side}" ended with ${code}.`));
    });
  });
}
